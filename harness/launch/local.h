/*
 * local: launchers whose ranks are children of the harness on this
 * machine: Open MPI, SimGrid SMPI, and any command that takes the trainer's
 * words after its own.
 */
#ifndef LAUNCH_LOCAL_H
#define LAUNCH_LOCAL_H

#include "launcher.h"

extern const struct launcher launch_mpirun, launch_smpirun, launch_command;

#endif
