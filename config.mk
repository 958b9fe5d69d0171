# Settings; override them on the command line or in an untracked local.mk.
MODE     ?= release
CC       ?= cc
MPICC    ?= mpicc.openmpi
SMPICC   ?= smpicc
PREFIX   ?= /usr/local
VERSION  := 0.1.0

OPT_release := -O2 -g
OPT_check   := $(OPT_release)
OPT_asan    := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all \
               -fno-omit-frame-pointer

-include local.mk
