# The devices of the emulator: Arm's virt board and the virtio devices that tests use.
CONFIG_ARM_VIRT=y
CONFIG_VIRTIO_BLK=y
CONFIG_VIRTIO_PCI=y
CONFIG_VIRTIO_RNG=y
CONFIG_VIRTIO_SERIAL=y
