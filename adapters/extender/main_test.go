package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/fake"

	"vgpualloc.example/adapters/extender/service"
)

func TestFlagsThatMakeNoSenseAreOneLineAndCode2(t *testing.T) {
	folder := t.TempDir()
	config := filepath.Join(folder, "kubeconfig")
	write(t, config, "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\n"+
		"contexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u}]\ncurrent-context: c\n")
	log := filepath.Join(folder, "decisions.jsonl")
	for _, flags := range [][]string{
		{"--polciy=fgd"},
		{"--policy=best", "--kubeconfig=" + config, "--decision-log=" + log},
		{"--policy="},
		{"--device-policy="},
		{"--scheduler-name="},
		{"--scheduler-name=a,,b"},
		{"--device-config-name="},
		{"--device-config-name=a/b"},
		{"--device-config-namespace=.."},
		{"--decision-log="},
		{"--listen=127.0.0.1:99999"},
		{"--listen=127.0.0.1:abc"},
		{"--policy=random", "--kubeconfig=" + config},
		{"--device-policy=best", "--kubeconfig=" + config},
		{"--decision-log=" + filepath.Join(folder, "no", "such", "folder"), "--kubeconfig=" + config},
		{"--kubeconfig=" + filepath.Join(folder, "nothing")},
		{"--decision-log-max-mib=-1", "--kubeconfig=" + config},
		{"--decision-log-max-mib=much", "--kubeconfig=" + config},
		{"--listen=8090"},
		{"--listen=:8090"},
		{"--listen=0.0.0.0:8090"},
		{"--listen=[::]:8090"},
		{"--listen=10.0.0.7:8090"},
		{"--listen=example.com:8090"},
		{"--tls-cert=cert.pem"},
		{"--tls-cert=cert.pem", "--tls-key=key.pem"},
		{"--client-ca=ca.pem"},
		{"--tls-cert=no.pem", "--tls-key=no.pem", "--client-ca=no.pem"},
		{"serve"},
	} {
		var out, complaints bytes.Buffer
		code := run(context.Background(), flags, &out, &complaints)
		text := complaints.String()
		named, _, _ := strings.Cut(flags[0], "=")
		if code != 2 || out.Len() != 0 || strings.Count(text, "\n") != 1 || !strings.HasPrefix(text, "vgpualloc-extender: ") ||
			!strings.Contains(text, named) {
			t.Error(flags, code, out.String(), text)
		}
	}
	if _, err := os.Stat(log); !os.IsNotExist(err) {
		t.Error("a log of nothing is left behind", err)
	}
	var out, complaints bytes.Buffer
	if code := run(context.Background(), []string{"--help"}, &out, &complaints); code != 0 || complaints.Len() != 0 ||
		!strings.Contains(out.String(), "--client-ca") {
		t.Error(code, out.String(), complaints.String())
	}
	out.Reset()
	if code := run(context.Background(), []string{"--version"}, &out, &complaints); code != 0 ||
		!strings.HasPrefix(out.String(), "vgpualloc ") {
		t.Error(code, out.String())
	}
}

func TestLoopbackNeedsNoCertificates(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:8090", "localhost:8090", "[::1]:0", "127.9.9.9:1"} {
		if values, err := readFlags([]string{"--listen", listen}, io.Discard); err != nil || values.listen != listen {
			t.Error(listen, err)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         string
	serial      int64
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{}
	a.certificate = &x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, a.certificate, a.certificate, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	a.pem = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *authority) sign(t *testing.T, name string) (certificate, key string) {
	t.Helper()
	a.serial++
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{Subject: pkix.Name{CommonName: name}, SerialNumber: big.NewInt(a.serial + 1),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &own.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(own)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}))
}

// client trusts an authority, and has a certificate of another if that is not nil.
func client(t *testing.T, trusts, has *authority) *http.Client {
	t.Helper()
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	config.RootCAs.AddCert(trusts.certificate)
	if has != nil {
		pair, err := tls.X509KeyPair(func() ([]byte, []byte) {
			certificate, key := has.sign(t, "scheduler")
			return []byte(certificate), []byte(key)
		}())
		if err != nil {
			t.Fatal(err)
		}
		// Also where the server says that it trusts others only.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
}

func status(asking *http.Client, method, url string) int {
	request, err := http.NewRequest(method, url, strings.NewReader("{}"))
	if err != nil {
		return -1
	}
	response, err := asking.Do(request)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

func TestOnlyClientsWithACertificateAreAnswered(t *testing.T) {
	folder := t.TempDir()
	flags := &flagValues{tlsCert: filepath.Join(folder, "tls.crt"), tlsKey: filepath.Join(folder, "tls.key"),
		clientCA: filepath.Join(folder, "ca.crt")}
	ours, others := newAuthority(t, "ours"), newAuthority(t, "others")
	certificate, key := ours.sign(t, "extender")
	write(t, flags.tlsCert, certificate)
	write(t, flags.tlsKey, key)
	write(t, flags.clientCA, ours.pem)
	guard, err := newGuard(flags)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	made, err := service.New(fake.NewClientset(), service.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- serve(ctx, made, guard.listen(listener), guard) }()
	url := "https://" + listener.Addr().String()
	for began := time.Now(); status(client(t, ours, nil), "GET", url+"/healthz") != http.StatusOK; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatal("never ready")
		}
	}
	if got := status(client(t, ours, nil), "GET", url+"/livez"); got != http.StatusOK {
		t.Error("the kubelet has no certificate", got)
	}
	for _, path := range []string{"/metrics", "/explain?pod=a/b", "/elsewhere"} {
		if got := status(client(t, ours, nil), "GET", url+path); got != http.StatusUnauthorized {
			t.Error(path, got)
		}
	}
	if got := status(client(t, ours, nil), "POST", url+"/filter"); got != http.StatusUnauthorized {
		t.Error(got)
	}
	if got := status(client(t, ours, others), "GET", url+"/healthz"); got != 0 {
		t.Error("a certificate of nobody's is no certificate", got)
	}
	if got := status(client(t, ours, ours), "POST", url+"/filter"); got != http.StatusBadRequest {
		t.Error("who has one is asked for a pod", got)
	}
	if got := status(client(t, ours, ours), "GET", url+"/metrics"); got != http.StatusOK {
		t.Error(got)
	}
	if got := status(http.DefaultClient, "GET", strings.Replace(url, "https", "http", 1)+"/healthz"); got == http.StatusOK {
		t.Error("without TLS", got)
	}
	// Renewed by another authority, first badly.
	write(t, flags.tlsCert, "nothing")
	later(t, flags.tlsCert, 1)
	if got := status(client(t, ours, ours), "GET", url+"/healthz"); got != http.StatusOK {
		t.Error("the last that were good stay", got)
	}
	certificate, key = others.sign(t, "extender")
	write(t, flags.tlsCert, certificate)
	write(t, flags.tlsKey, key)
	write(t, flags.clientCA, others.pem)
	later(t, flags.tlsCert, 2)
	if got := status(client(t, others, others), "GET", url+"/metrics"); got != http.StatusOK {
		t.Error("certificates were renewed", got)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// later gives a file another time, as some file systems count seconds.
func later(t *testing.T, path string, seconds int) {
	t.Helper()
	when := time.Now().Add(time.Duration(seconds) * time.Second)
	if err := os.Chtimes(path, when, when); err != nil {
		t.Fatal(err)
	}
}

func TestWithoutTLSAnybodyOnTheMachineMayAsk(t *testing.T) {
	var guard *tlsGuard
	if !guard.allowed(httptest.NewRecorder(), httptest.NewRequest("GET", "/metrics", nil)) {
		t.Error("refused")
	}
}
