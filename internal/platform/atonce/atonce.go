// Package atonce runs several functions side by side.
package atonce

import (
	"fmt"
	"runtime/debug"
	"sync"
)

// Each calls f with every number from 0 to n-1, at most atMost at a time, each in a goroutine of its own, and returns
// when all have ended. When one panics, Each panics in the caller's goroutine after the others have ended. There the
// handler of requests and jobs recovers it; in a goroutine of its own it would end the process.
func Each(n, atMost int, f func(i int)) {
	var (
		all   sync.WaitGroup
		mu    sync.Mutex
		fault any
	)
	slots := make(chan struct{}, atMost)
	for i := range n {
		slots <- struct{}{}
		all.Go(func() {
			defer func() {
				if v := recover(); v != nil {
					mu.Lock()
					fault = fmt.Errorf("%v\n\n%s", v, debug.Stack())
					mu.Unlock()
				}
				<-slots
			}()
			f(i)
		})
	}
	all.Wait()
	if fault != nil {
		panic(fault)
	}
}
