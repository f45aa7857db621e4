package isolate

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// startLoopback switches the loopback interface on, the only one that there is.
func startLoopback() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request); err != nil {
		return fmt.Errorf("switching lo on: %w", err)
	}
	return nil
}

// AddAddress gives the loopback interface one more address, as the number-th after 127.0.0.1. A kubelet takes no address of
// 127.0.0.0/8 for its node's.
func AddAddress(number int, address [4]byte) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	request, err := unix.NewIfreq(fmt.Sprintf("lo:%d", number))
	if err != nil {
		return err
	}
	if err := request.SetInet4Addr(address[:]); err != nil {
		return err
	}
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFADDR, request); err != nil {
		return fmt.Errorf("address %v of lo: %w", address, err)
	}
	return nil
}
