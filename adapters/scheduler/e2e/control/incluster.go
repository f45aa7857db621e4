package control

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// Where a pod finds its service account; client-go looks nowhere else.
const serviceAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount"

// EnterCommand is the subcommand of this program that enterCluster starts the scheduler through.
const EnterCommand = "in-cluster"

// enterCluster has a scheduler started by this same program, which first shows it the files of a service account.
func (plane *Plane) enterCluster(scheduler *Process) error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("in-cluster: user id %d, expected 0: files are shown to the scheduler by a mount", os.Geteuid())
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	scheduler.Args = append([]string{EnterCommand, plane.options.Dir, scheduler.Path}, scheduler.Args...)
	scheduler.Path = self
	scheduler.Env = append(os.Environ(), "KUBERNETES_SERVICE_HOST=127.0.0.1",
		"KUBERNETES_SERVICE_PORT="+strconv.Itoa(plane.apiPort))
	return nil
}

// Enter is what the subcommand does: DIR PROGRAM ARGUMENTS…, where DIR is the control plane's. It becomes PROGRAM, in a mount
// namespace of its own in which /var/run is empty but for the service account. Nobody else sees that, and nothing stays.
func Enter(arguments []string) error {
	if len(arguments) < 2 {
		return fmt.Errorf("%s: %d arguments, expected DIR PROGRAM", EnterCommand, len(arguments))
	}
	dir, program := arguments[0], arguments[1]
	// kube-apiserver signs its certificate itself and appends who signed it.
	certificate, err := os.ReadFile(filepath.Join(dir, "certificates", "apiserver.crt"))
	if err != nil {
		return err
	}
	tokens, err := os.ReadFile(filepath.Join(dir, tokensFile))
	if err != nil {
		return err
	}
	token, _, _ := strings.Cut(string(tokens), ",")
	// A mount namespace is a thread's, and Go moves what is not locked from thread to thread.
	runtime.LockOSThread()
	if err := syscall.Unshare(syscall.CLONE_NEWNS); err != nil {
		return fmt.Errorf("a mount namespace: %w", err)
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("mounts of one's own: %w", err)
	}
	run, err := filepath.EvalSymlinks("/var/run")
	if err != nil {
		return err
	}
	if err := syscall.Mount("tmpfs", run, "tmpfs", 0, "size=1m"); err != nil {
		return fmt.Errorf("mounting an empty %s: %w", run, err)
	}
	if err := os.MkdirAll(serviceAccountFolder, 0o700); err != nil {
		return err
	}
	for name, content := range map[string]string{"ca.crt": string(certificate), "token": token, "namespace": "kube-system"} {
		if err := os.WriteFile(filepath.Join(serviceAccountFolder, name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	return syscall.Exec(program, arguments[1:], os.Environ())
}
