# A Slurm of one node on loopback, of this machine's own programs: munged,
# slurmctld and slurmd, started in the foreground and ended by their pids. To
# be sourced; needs $work, a folder. cluster_start returns 1 when it cannot.
cluster_conf() {
    cat >"$work/slurm.conf" <<CONF
ClusterName=loopback
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket
CredType=cred/munge
SlurmUser=$(id -un)
SlurmdUser=root
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmdParameters=config_overrides
ReturnToService=2
MpiDefault=none
SlurmctldTimeout=30
SlurmdTimeout=6
InactiveLimit=0
KillWait=2
MinJobAge=300
OverTimeLimit=0
NodeName=$host NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
}

cluster_slurmd() {
    slurmd -D -f "$work/slurm.conf" >"$work/slurmd.out" 2>&1 &
    slurmd_pid=$!
}

cluster_idle() { # waits up to 20 s for the node
    for i in $(seq 100); do
        [ "$(sinfo -h -o %T 2>/dev/null)" = idle ] && return 0
        sleep 0.2
    done
    return 1
}

cluster_start() {
    host=$(hostname -s)
    port=$((20000 + $$ % 20000))
    mkdir -p "$work/state" "$work/spool" "$work/munge"
    chmod 755 "$work"
    chmod 700 "$work/munge"
    dd if=/dev/urandom of="$work/munge/key" bs=128 count=1 2>/dev/null
    chmod 600 "$work/munge/key"
    munged --foreground --force --key-file="$work/munge/key" \
        --socket="$work/munge.socket" --pid-file="$work/munge/pid" \
        --log-file="$work/munge/log" --seed-file="$work/munge/seed" \
        >"$work/munged.out" 2>&1 &
    munged_pid=$!
    cluster_conf
    export SLURM_CONF=$work/slurm.conf
    for i in $(seq 50); do
        [ -S "$work/munge.socket" ] && break
        sleep 0.1
    done
    slurmctld -D -f "$work/slurm.conf" >"$work/slurmctld.out" 2>&1 &
    slurmctld_pid=$!
    cluster_slurmd
    cluster_idle
}

cluster_stop() {
    scancel -u "$(id -un)" 2>/dev/null
    for pid in ${slurmd_pid:-} ${slurmctld_pid:-} ${munged_pid:-}; do
        kill "$pid" 2>/dev/null
        wait "$pid" 2>/dev/null
    done
}
