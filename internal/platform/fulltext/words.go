package fulltext

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/russian"

	"stead.dev/stead/internal/platform/i18n"
)

// word is a word of a text.
type word struct {
	start, end int    // where it stands, in bytes
	folded     string // in small letters, without apostrophes
}

// apostrophes are what people write for the marks of oʻ and gʻ and for the tutuq belgisi, and in English words.
const apostrophes = "'`´ʻʼʹ‘’′＇"

// maxWord bounds a word in bytes: longer ones are no words but data.
const maxWord = 60

// split finds the words of a text.
func split(text string) (words []word) {
	var folded strings.Builder
	start := -1
	end := func(at int) {
		if start >= 0 && folded.Len() <= maxWord {
			words = append(words, word{start, at, folded.String()})
		}
		start = -1
		folded.Reset()
	}
	for i, c := range text {
		switch {
		case strings.ContainsRune(apostrophes, c):
			if start < 0 {
				continue
			}
			if next, _ := utf8.DecodeRuneInString(text[i+utf8.RuneLen(c):]); !unicode.IsLetter(next) && c != 'ʻ' && c != 'ʼ' {
				end(i) // the end of a quotation
			}
		case unicode.IsLetter(c), unicode.IsDigit(c):
			if start < 0 {
				start = i
			}
			if c = unicode.ToLower(c); c == 'ё' {
				c = 'е'
			}
			folded.WriteRune(c)
		case unicode.IsMark(c) && start >= 0:
			// an accent that is written by itself
		default:
			end(i)
		}
	}
	end(len(text))
	return words
}

// stem is what the forms of a word have in common. Uzbek words are taken as they are: their endings are found by the
// beginning of the word.
func stem(lang, folded string) string {
	env := snowballstem.NewEnv(folded)
	switch lang {
	case i18n.English:
		english.Stem(env)
	case i18n.Russian:
		russian.Stem(env)
	}
	return env.Current()
}

// stems are the stems of a text with blanks between them.
func stems(lang, text string) string {
	var b strings.Builder
	for _, w := range split(text) {
		b.WriteString(stem(lang, w.folded))
		b.WriteByte(' ')
	}
	return b.String()
}

// folded is the words of a text with blanks between them.
func folded(text string) string {
	var b strings.Builder
	for _, w := range split(text) {
		b.WriteString(w.folded)
		b.WriteByte(' ')
	}
	return b.String()
}

// romanization writes Cyrillic in Latin letters: PostgreSQL's trigrams know the letters of the database's locale alone.
var romanization = strings.NewReplacer(
	"а", "a", "б", "b", "в", "v", "г", "g", "д", "d", "е", "e", "ж", "zh", "з", "z", "и", "i", "й", "j", "к", "k", "л", "l",
	"м", "m", "н", "n", "о", "o", "п", "p", "р", "r", "с", "s", "т", "t", "у", "u", "ф", "f", "х", "h", "ц", "c", "ч", "ch",
	"ш", "sh", "щ", "sch", "ъ", "", "ы", "y", "ь", "", "э", "e", "ю", "ju", "я", "ja",
)

// latin is a folded word in Latin letters.
func latin(folded string) string { return romanization.Replace(folded) }

// fillers are words of a question that say nothing about what is sought.
var fillers = map[string]map[string]bool{
	i18n.English: set("a an and are as at be by can do does for from have how i in is it its me my of on or our that the their this to was we what when where which who why will with you your"),
	i18n.Russian: set("а без бы в во вы где да для до если есть и из или к как какой ко когда кто ли мне мой моя мое мои мы на не нет но о об от по почему при с со то у что чтобы это я"),
	i18n.Uzbek:   set("bilan bu bu da ham haqida kerak men mening mi nega nima qachon qanday qayerda qaysi siz sizning u uchun va yoki"),
}

func set(words string) map[string]bool {
	s := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		s[w] = true
	}
	return s
}

// distance is the number of letters that are wrong, missing, too many or swapped with their neighbour, as far as it is at
// most most; else more than that.
func distance(a, b string, most int) int {
	x, y := []rune(a), []rune(b)
	if len(x)-len(y) > most || len(y)-len(x) > most {
		return most + 1
	}
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(y)]
}

// tolerated is how many letters of a word may be wrong.
func tolerated(word string) int {
	switch n := utf8.RuneCountInString(word); {
	case n < 4:
		return 0
	case n < 7:
		return 1
	default:
		return 2
	}
}
