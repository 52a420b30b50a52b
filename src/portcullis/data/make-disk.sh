# SPDX-License-Identifier: GPL-2.0-only
# make-disk.sh ARCHIVE FOLDER OURS DISK SIZE: unpacks a root into FOLDER, adds what is ours, and makes a disk of it.
set -e
root=$2
own=/opt/portcullis
units=$root/etc/systemd/system

mkdir "$root"
tar --numeric-owner -xf "$1" -C "$root"
mkdir -p "$root$own" "$units/multi-user.target.wants" "$units/serial-getty@.service.d"
cp -r "$3/." "$root$own"
chown -R 0:0 "$root$own"
chmod -R a+rX "$root$own"
ln -s "$own/portcullis-work.service" "$units/portcullis-work.service"
ln -s "$own/portcullis-work.service" "$units/multi-user.target.wants/portcullis-work.service"

# root is logged in on the serial console, and there is the network that QEMU gives to its guests
printf '[Service]\nExecStart=\nExecStart=-/sbin/agetty --autologin root --noclear %%I linux\n' \
	>"$units/serial-getty@.service.d/autologin.conf"
printf '[Match]\nType=ether\n[Network]\nDHCP=yes\n' >"$root/etc/systemd/network/80-dhcp.network"
ln -s /lib/systemd/system/systemd-networkd.service "$units/multi-user.target.wants/systemd-networkd.service"
echo 'nameserver 10.0.2.3' >"$root/etc/resolv.conf"
echo portcullis >"$root/etc/hostname"
: >"$root/etc/machine-id"

# what would begin by itself in the middle of the work
for unit in zramswap.service apt-daily.timer apt-daily-upgrade.timer; do
	ln -s /dev/null "$units/$unit"
done

truncate -s "$5" "$4"
mke2fs -q -F -t ext4 -L portcullis -d "$root" "$4"
