# The devices of the emulator for x86-64: the old PC, which is the distribution's default, and what tests use.
CONFIG_I440FX=y
CONFIG_HPET=y
CONFIG_ISA_DEBUG=y
CONFIG_VIRTIO_BLK=y
CONFIG_VIRTIO_PCI=y
CONFIG_VIRTIO_RNG=y
CONFIG_VIRTIO_SERIAL=y
