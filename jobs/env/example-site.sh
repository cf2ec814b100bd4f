# shellcheck shell=bash
# What a site needs before sherd runs. Copy it, change it, and submit with
#   SHERD_SITE_ENV=$HOME/my-site.sh sbatch jobs/train.sbatch config.yaml
# The scripts of jobs/ read it on the first node; srun and mpirun take the variables to the others.

# Where sherd comes from: one of these.
# module load openmpi/4.1 hdf5/1.14-mpi sherd
# source "$HOME/spack/share/spack/setup-env.sh" && spack load sherd
# export SHERD=$HOME/sherd/build/release/bin/sherd

# How ranks are started, where the choice of jobs/slurm.sh is not the site's.
# LAUNCHER=mpirun
# SRUN_OPTIONS="--cpu-bind=cores --distribution=block:block"
# MPIRUN_OPTIONS="--bind-to core --mca pml ucx -x UCX_NET_DEVICES"

# Network. `sherd info` names the interfaces; the ones for MPI and NCCL are rarely the first.
# export UCX_NET_DEVICES=mlx5_0:1,mlx5_1:1
# export UCX_TLS=rc,sm,self
# export NCCL_SOCKET_IFNAME=ib0
# export NCCL_IB_HCA=mlx5_0,mlx5_1
# export NCCL_DEBUG=WARN

# Files on Lustre, GPFS or NFS.
# export HDF5_USE_FILE_LOCKING=FALSE

# How long a rank waits for the others before the run ends with a message (600 s).
# export SHERD_COMM_TIMEOUT=600

# Threads of a rank: --cpus-per-task, unless set here.
# export OMP_NUM_THREADS=4
