package oauth_test

import "testing"

// Every request of the API pays this.
func BenchmarkVerify(b *testing.B) {
	w := newWorldOn(b)
	app, _ := w.register()
	access, _ := w.tokens(app)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.s.Verify(b.Context(), access); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerifyParallel(b *testing.B) {
	w := newWorldOn(b)
	app, _ := w.register()
	access, _ := w.tokens(app)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := w.s.Verify(b.Context(), access); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
