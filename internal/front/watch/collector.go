package watch

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	readTime  = 5 * time.Second  // for all figures
	readAgain = 25 * time.Second // what was read stands for so long
)

// collector gives the figures to Prometheus.
type collector struct {
	*Watch

	descs map[string]*prometheus.Desc
	mu    sync.Mutex
	at    time.Time
	all   map[string][]value
}

// Collector gives the figures to Prometheus.
func (w *Watch) Collector() prometheus.Collector {
	c := &collector{Watch: w, descs: map[string]*prometheus.Desc{}}
	for _, f := range figures {
		var labels []string
		if f.label != "" {
			labels = []string{f.label}
		}
		c.descs[f.name] = prometheus.NewDesc(f.name, f.help, labels, nil)
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.Clock.Now(); c.all == nil || now.Sub(c.at) >= readAgain || now.Before(c.at) {
		ctx, cancel := context.WithTimeout(context.Background(), readTime)
		defer cancel()
		c.all, _ = c.read(ctx) // what could not be read is absent, and its rule fires
		c.at = now
	}
	for _, f := range figures {
		for _, v := range c.all[f.name] {
			var labels []string
			if f.label != "" {
				labels = []string{v.label}
			}
			ch <- prometheus.MustNewConstMetric(c.descs[f.name], prometheus.GaugeValue, v.is, labels...)
		}
	}
}
