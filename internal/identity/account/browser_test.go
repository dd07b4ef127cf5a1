package account

import "testing"

func TestBrowsersAreNamed(t *testing.T) {
	t.Parallel()
	for agent, want := range map[string][2]string{
		"Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0":                                                              {"Firefox", "Linux"},
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0":       {"Edge", "Windows"},
		"Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36":               {"Chrome", "Android"},
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/1": {"Safari", "iPhone"},
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15":               {"Safari", "macOS"},
		"Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 YaBrowser/25.10 Safari/537.36":                     {"Yandex Browser", "Windows"},
		"": {"", ""}, "a program": {"", ""},
	} {
		if browser, system := browserOf(agent); browser != want[0] || system != want[1] {
			t.Errorf("%q is %s on %s, want %v", agent, browser, system, want)
		}
	}
}
