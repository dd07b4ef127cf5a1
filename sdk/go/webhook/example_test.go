package webhook_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"stead.dev/stead/sdk/go/webhook"
)

func ExampleVerifier() {
	verifier := webhook.Verifier{Secrets: []string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}}
	receive := func(w http.ResponseWriter, r *http.Request) {
		event, err := verifier.Request(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		fmt.Println(event.ID, event.Type, event.Sequence)
		w.WriteHeader(http.StatusNoContent)
	}

	body := `{"id": "evt_1", "type": "service.suspended", "sequence": 7}`
	header, err := webhook.Sign("evt_1", time.Now(), []byte(body), verifier.Secrets...)
	if err != nil {
		panic(err)
	}
	request := httptest.NewRequest(http.MethodPost, "/hooks", strings.NewReader(body))
	request.Header = header
	receive(httptest.NewRecorder(), request)
	// Output: evt_1 service.suspended 7
}
