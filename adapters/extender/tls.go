package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"vgpualloc.example/adapters/extender/service"
)

// tlsGuard lets those in that have a certificate of the clients' authority. Its files are read again when they change, as
// certificates are renewed. Nil: there is no TLS, and only this machine can ask.
type tlsGuard struct {
	cert, key, clientCA string
	mutex               sync.Mutex
	read                [3]time.Time // when the files that were read last had been written
	config              *tls.Config
}

func newGuard(flags *flagValues) (*tlsGuard, error) {
	if flags.tlsCert == "" {
		return nil, nil
	}
	guard := &tlsGuard{cert: flags.tlsCert, key: flags.tlsKey, clientCA: flags.clientCA}
	guard.read = guard.written()
	return guard, guard.load()
}

func (g *tlsGuard) listen(listener net.Listener) net.Listener {
	if g == nil {
		return listener
	}
	return tls.NewListener(listener, &tls.Config{MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return g.current(), nil }})
}

// allowed answers clients that have no certificate: the kubelet asks GET /healthz and /livez without, and nothing
// else is for all.
func (g *tlsGuard) allowed(to http.ResponseWriter, request *http.Request) bool {
	if g == nil || request.TLS != nil && len(request.TLS.VerifiedChains) > 0 {
		return true
	}
	service.Fail(to, http.StatusUnauthorized, errors.New("a client certificate is needed"))
	return false
}

// current is the configuration of the files as they are now, or as they were when they last made sense.
func (g *tlsGuard) current() *tls.Config {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if times := g.written(); times != g.read {
		g.read = times // also of files that make no sense, which are said once
		if err := g.load(); err != nil {
			klog.ErrorS(err, "Certificates are refused; the last that were good stay")
		}
	}
	return g.config
}

func (g *tlsGuard) written() [3]time.Time {
	var times [3]time.Time
	for i, path := range []string{g.cert, g.key, g.clientCA} {
		if information, err := os.Stat(path); err == nil {
			times[i] = information.ModTime()
		}
	}
	return times
}

// load reads the files. Nobody else uses the guard, or the mutex is held.
func (g *tlsGuard) load() error {
	certificate, err := tls.LoadX509KeyPair(g.cert, g.key)
	if err != nil {
		return fmt.Errorf("--tls-cert %q, --tls-key %q: %w", g.cert, g.key, err)
	}
	text, err := os.ReadFile(g.clientCA)
	if err != nil {
		return fmt.Errorf("--client-ca: %w", err)
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(text) {
		return fmt.Errorf("--client-ca %q: expected certificates in PEM", g.clientCA)
	}
	g.config = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate},
		ClientCAs: authorities, ClientAuth: tls.VerifyClientCertIfGiven, NextProtos: []string{"http/1.1"}}
	return nil
}
