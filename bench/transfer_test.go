package bench

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/node/nodetest"
)

// BenchmarkTransfer uploads a file through the interface of the built program and downloads it, in
// turns with a copy of the same bytes through a loopback connection to a file ("cat"), and reports the
// rates, their ratios, and how much more memory the server had at most. STEAD_BENCH_MB is the size of the
// file; 1024 when it is not set.
func BenchmarkTransfer(b *testing.B) {
	size := setting(b, "STEAD_BENCH_MB", 1024) << 20
	h := host(b)
	service := h.pay(h.order("transfer.stead.test"))
	dir := nodetest.Dir(b)
	source := filepath.Join(dir, "source")
	random(b, source, size)
	var cats, ups, downs, upRatios, downRatios []float64
	before := h.memory("VmRSS")
	for b.Loop() {
		cat := rate(size, func() { cat(b, source, filepath.Join(dir, "copy")) })
		must(b, os.Remove(filepath.Join(dir, "copy")))
		up := rate(size, func() { h.upload(service, source, size) })
		down := rate(size, func() { h.download(service, filepath.Join(dir, "copy"), size) })
		same(b, source, filepath.Join(dir, "copy"))
		must(b, os.Remove(filepath.Join(dir, "copy")))
		cats, ups, downs = append(cats, cat), append(ups, up), append(downs, down)
		upRatios, downRatios = append(upRatios, up/cat), append(downRatios, down/cat)
	}
	median := func(all []float64) float64 { slices.Sort(all); return all[len(all)/2] }
	b.ReportMetric(median(cats), "cat-MB/s")
	b.ReportMetric(median(ups), "up-MB/s")
	b.ReportMetric(median(downs), "down-MB/s")
	b.ReportMetric(median(upRatios), "up-ratio")
	b.ReportMetric(median(downRatios), "down-ratio")
	b.ReportMetric(float64(before)/1024, "before-MiB")
	b.ReportMetric(float64(h.memory("VmHWM"))/1024, "peak-MiB")
	b.ReportMetric(0, "ns/op")
}

func rate(size int64, do func()) float64 {
	began := time.Now()
	do()
	return float64(size) / 1e6 / time.Since(began).Seconds()
}

// random writes a file of a size that does not compress.
func random(b *testing.B, name string, size int64) {
	f, err := os.Create(name)
	must(b, err)
	block := make([]byte, 1<<20)
	_, err = rand.Read(block)
	must(b, err)
	for i := int64(0); i < size; i += int64(len(block)) {
		copy(block, strconv.FormatInt(i, 10))
		_, err = f.Write(block)
		must(b, err)
	}
	must(b, errors.Join(f.Sync(), f.Close()))
}

// cat sends a file through a connection of the loopback to one who writes it, as
// "cat from | nc" and "nc -l > to" do, and has it on the disk, as an upload has.
func cat(b *testing.B, from, to string) {
	ln, err := new(net.ListenConfig).Listen(b.Context(), "tcp", "127.0.0.1:0")
	must(b, err)
	sent := make(chan error, 1)
	go func() { sent <- send(ln.Addr().String(), from) }()
	conn, err := ln.Accept()
	must(b, err)
	f, err := os.Create(to)
	must(b, err)
	// Not io.Copy of the files themselves, which has the kernel do it: cat and nc read and write.
	_, err = io.CopyBuffer(struct{ io.Writer }{f}, struct{ io.Reader }{conn}, make([]byte, 128<<10))
	must(b, errors.Join(err, f.Sync(), f.Close(), conn.Close(), <-sent, ln.Close()))
}

func send(address, from string) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	f, err := os.Open(from)
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{conn}, struct{ io.Reader }{f}, make([]byte, 128<<10))
	return errors.Join(err, f.Close(), conn.Close())
}

// upload sends a file as curl -F does, with its length.
func (h *hosting) upload(service int64, from string, size int64) {
	f, err := os.Open(from)
	must(h.b, err)
	defer func() { _ = f.Close() }()
	var head bytes.Buffer
	form := multipart.NewWriter(&head)
	_, err = form.CreateFormFile("file", "large.bin")
	must(h.b, err)
	tail := "\r\n--" + form.Boundary() + "--\r\n"
	length := int64(head.Len()) + size + int64(len(tail))
	req, err := http.NewRequestWithContext(h.b.Context(), http.MethodPost, fmt.Sprintf("%s/api/v1/services/%d/files/upload?path=/&overwrite=true", h.url, service),
		io.MultiReader(&head, f, strings.NewReader(tail)))
	must(h.b, err)
	req.ContentLength = length
	req.Header.Set("Content-Type", form.FormDataContentType())
	h.text(h.client.Do(req))
}

func (h *hosting) download(service int64, to string, size int64) {
	res, err := h.client.Get(fmt.Sprintf("%s/api/v1/services/%d/files/download?path=/large.bin", h.url, service))
	must(h.b, err)
	defer func() { _ = res.Body.Close() }()
	f, err := os.Create(to)
	must(h.b, err)
	n, err := io.CopyBuffer(struct{ io.Writer }{f}, struct{ io.Reader }{res.Body}, make([]byte, 128<<10))
	must(h.b, errors.Join(err, f.Sync(), f.Close()))
	if res.StatusCode != http.StatusOK || n != size {
		h.b.Fatalf("%s, %d bytes", res.Status, n)
	}
}

func same(b *testing.B, one, other string) {
	if out, err := exec.CommandContext(b.Context(), "cmp", one, other).CombinedOutput(); err != nil {
		b.Fatalf("what came back differs: %s", out)
	}
}
