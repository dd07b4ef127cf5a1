package invoices

import (
	"bytes"
	"embed"
	"fmt"
	"strconv"
	"strings"
	"time"

	"codeberg.org/go-pdf/fpdf"
	"golang.org/x/text/language"
	"golang.org/x/text/language/display"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/money"
)

// Liberation Sans of Debian's fonts-liberation2 (2.1.5), under the SIL Open Font License; see fonts/LICENSE. It has
// the Latin and the Cyrillic letters, those of Uzbek too.
//
//go:embed fonts/*.ttf
var fonts embed.FS

const (
	family = "Liberation"

	// In millimetres, of A4.
	margin    = 18.0
	pageWidth = 210.0 - 2*margin
	bottom    = 22.0
	gap       = 6.0
	rowHeight = 5.0
)

// sheet is a document being drawn, in one language.
type sheet struct {
	*fpdf.Fpdf
	lang string
	zone *time.Location
	r    record
}

// pdf draws a document. The same document in the same language is the same bytes.
func (s *Service) pdf(r record, lang string) ([]byte, error) {
	p := &sheet{Fpdf: fpdf.New("P", "mm", "A4", ""), lang: lang, zone: s.Zone, r: r}
	p.SetCatalogSort(true)
	day := r.issuedAt
	if r.kind == Proforma {
		day = *r.dueAt
	}
	p.SetCreationDate(day)
	p.SetModificationDate(day)
	p.SetTitle(p.text("kind."+string(r.kind), nil)+" "+r.number(), true)
	p.SetAuthor(drawable(r.document.Seller.Name), true)
	p.SetLang(lang)
	p.SetMargins(margin, margin, margin)
	p.SetAutoPageBreak(false, bottom)
	p.AliasNbPages("{pages}")
	for style, file := range map[string]string{"": "Regular", "B": "Bold"} {
		font, err := fonts.ReadFile("fonts/LiberationSans-" + file + ".ttf")
		if err != nil {
			return nil, err
		}
		p.AddUTF8FontFromBytes(family, style, font)
	}
	p.SetFooterFunc(p.footer)
	p.AddPage()
	p.head()
	p.parties()
	p.lines()
	p.totals()
	p.notes()
	var out bytes.Buffer
	if err := p.Output(&out); err != nil {
		return nil, fmt.Errorf("invoices: draw %s: %w", r.number(), err)
	}
	return out.Bytes(), nil
}

func (p *sheet) text(key string, data map[string]any) string {
	return i18n.T(p.lang, "invoices."+key, data)
}

// day writes a date as it is written in all three languages.
func (p *sheet) day(t time.Time) string { return t.In(p.zone).Format("02.01.2006") }

func (p *sheet) font(style string, size float64) { p.SetFont(family, style, size) }

// drawable keeps what the font can show: of other writing a mark stays, so that the reader sees that there is more.
func drawable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < ' ' || r == 0x7f || r > 0xffff:
			return '?'
		default:
			return r
		}
	}, strings.ToValidUTF8(text, "?"))
}

// put writes a text at a place, in one line.
func (p *sheet) put(x, y, width float64, align, text string) {
	p.SetXY(x, y)
	p.CellFormat(width, rowHeight, drawable(text), "", 0, align, false, 0, "")
}

// block writes a text at a place in as many lines as it needs, and answers where it ends.
func (p *sheet) block(x, y, width float64, text string) float64 {
	for _, part := range p.wrap(text, width) {
		p.put(x, y, width, "L", part)
		y += rowHeight
	}
	return y
}

// wrap cuts a text into lines of a width; words that are longer are cut too.
func (p *sheet) wrap(text string, width float64) []string {
	var out []string
	current := ""
	fits := func(text string) bool { return p.GetStringWidth(text) <= width-2*p.GetCellMargin() }
	for word := range strings.FieldsSeq(drawable(text)) {
		if current != "" && fits(current+" "+word) {
			current += " " + word
			continue
		}
		if current != "" {
			out = append(out, current)
		}
		current = ""
		for _, letter := range word {
			if current != "" && !fits(current+string(letter)) {
				out = append(out, current)
				current = ""
			}
			current += string(letter)
		}
	}
	if current != "" {
		out = append(out, current)
	}
	return out
}

// room begins another page when less than so much is left of this one, and answers where to go on.
func (p *sheet) room(y, height float64) float64 {
	if y+height <= 297-bottom {
		return y
	}
	p.AddPage()
	return margin
}

func (p *sheet) footer() {
	p.font("", 8)
	p.SetTextColor(110, 110, 110)
	p.put(margin, 297-14, pageWidth/2, "L", p.r.document.Seller.Name+" · "+p.r.number())
	p.SetXY(margin+pageWidth/2, 297-14)
	p.CellFormat(pageWidth/2, rowHeight, strconv.Itoa(p.PageNo())+" / {pages}", "", 0, "R", false, 0, "")
	p.SetTextColor(0, 0, 0)
}

// head is the title and what is said of the document as a whole.
func (p *sheet) head() {
	p.font("B", 18)
	y := margin
	for _, part := range p.wrap(p.text("kind."+string(p.r.kind), nil), pageWidth) {
		p.put(margin, y, pageWidth, "L", part)
		y += 9
	}
	facts := [][2]string{{"number", p.r.number()}}
	if p.r.kind == Proforma {
		facts = append(facts, [2]string{"payable_until", p.day(*p.r.dueAt)})
	} else {
		facts = append(facts, [2]string{"issued", p.day(p.r.issuedAt)})
	}
	d := p.r.document
	if d.Order != "" && p.r.kind != Proforma {
		facts = append(facts, [2]string{"order", d.Order})
	}
	if d.Corrects != "" {
		facts = append(facts, [2]string{"corrects", d.Corrects})
	}
	if d.Gateway != "" {
		facts = append(facts, [2]string{"gateway", d.Gateway})
	}
	if why := d.reason(p.lang); why != "" {
		facts = append(facts, [2]string{"reason", why})
	}
	y += 2
	for _, f := range facts {
		p.font("", 9)
		p.SetTextColor(110, 110, 110)
		p.put(margin, y, 45, "L", p.text("head."+f[0], nil))
		p.SetTextColor(0, 0, 0)
		p.font("B", 9)
		y = p.block(margin+45, y, pageWidth-45, f[1])
	}
	p.SetY(y + gap)
}

// parties are the seller and the buyer beside each other.
func (p *sheet) parties() {
	y, half := p.GetY(), (pageWidth-gap)/2
	left := p.party(margin, y, half, "seller", p.r.document.Seller)
	right := p.party(margin+half+gap, y, half, "buyer", p.r.document.Buyer)
	p.SetY(max(left, right) + gap)
}

func (p *sheet) party(x, y, width float64, role string, who Party) float64 {
	p.font("", 9)
	p.SetTextColor(110, 110, 110)
	p.put(x, y, width, "L", p.text("head."+role, nil))
	p.SetTextColor(0, 0, 0)
	p.font("B", 10)
	y = p.block(x, y+rowHeight, width, who.Name)
	p.font("", 9)
	town := strings.TrimSpace(who.PostalCode + " " + who.City)
	for _, text := range []string{who.Address, town, who.Region, countryName(who.Country, p.lang)} {
		y = p.block(x, y, width, text)
	}
	for _, f := range [][2]string{{"tax_number", who.TaxNumber}, {"registration", who.Registration}} {
		if f[1] != "" {
			y = p.block(x, y, width, p.text("head."+f[0], nil)+": "+f[1])
		}
	}
	return p.block(x, y, width, who.Email)
}

// countryName is a country in a language; what is no country stays as it is written.
func countryName(code, lang string) string {
	region, err := language.ParseRegion(code)
	if err != nil {
		return code
	}
	if name := display.Regions(language.Make(lang)).Name(region); name != "" {
		return name
	}
	return code
}

// column of the table of lines.
type column struct {
	key   string
	width float64
	align string
}

var columnsOfLines = []column{{"item", 76, "L"}, {"quantity", 14, "R"}, {"unit_price", 28, "R"}, {"discount", 26, "R"}, {"amount", 30, "R"}}

func (p *sheet) tableHead(y float64) float64 {
	p.font("B", 9)
	p.SetFillColor(238, 238, 238)
	p.Rect(margin, y, pageWidth, 7, "F")
	x := margin
	for _, c := range columnsOfLines {
		p.put(x, y+1, c.width, c.align, p.text("column."+c.key, nil))
		x += c.width
	}
	return y + 8.5
}

// lines is the table of what the document is about.
func (p *sheet) lines() {
	y := p.tableHead(p.room(p.GetY(), 40))
	for _, l := range p.r.document.Lines {
		p.font("", 9)
		title := p.wrap(p.title(l), columnsOfLines[0].width)
		p.font("", 8)
		about := p.wrap(p.about(l), columnsOfLines[0].width)
		if next := p.room(y, float64(len(title)+len(about))*rowHeight+2); next < y {
			y = p.tableHead(next)
		}
		p.font("", 9)
		x := margin + columnsOfLines[0].width
		discount := ""
		if l.Discount > 0 {
			discount = "-" + l.Discount.String()
		}
		cells := []string{strconv.Itoa(l.Quantity), l.UnitPrice.String(), discount, (l.Total - l.Tax).String()}
		if l.Mentioned > 0 {
			cells = nil // no part of the sums
		}
		for i, cell := range cells {
			c := columnsOfLines[i+1]
			p.put(x, y, c.width, c.align, cell)
			x += c.width
		}
		for _, part := range title {
			p.put(margin, y, columnsOfLines[0].width, "L", part)
			y += rowHeight
		}
		p.font("", 8)
		p.SetTextColor(110, 110, 110)
		for _, part := range about {
			p.put(margin, y, columnsOfLines[0].width, "L", part)
			y += rowHeight - 0.5
		}
		p.SetTextColor(0, 0, 0)
		p.SetDrawColor(220, 220, 220)
		p.Line(margin, y+0.7, margin+pageWidth, y+0.7)
		y += 2
	}
	p.SetY(y)
}

// title is what a line is of: what the customer bought has the name it had then.
func (p *sheet) title(l line) string {
	data := map[string]any{"Title": l.Title}
	switch l.Kind {
	case KindSLACredit:
		data["Amount"] = l.Mentioned.String()
		return p.text("line."+l.Kind, data)
	case "renewal", "tariff_change", "addon", "domain_register", "domain_transfer", "domain_renew", "domain_restore", "credit", sale.KindAIUsage,
		"topup", "fee":
		return p.text("line."+l.Kind, data)
	default:
		return l.Title
	}
}

// about is what else there is to be said of a line.
func (p *sheet) about(l line) string {
	var parts []string
	if l.Domain != "" {
		parts = append(parts, l.Domain)
	}
	if l.PeriodMonths > 0 {
		parts = append(parts, p.text("months", map[string]any{"Count": l.PeriodMonths}))
	}
	if l.Setup > 0 {
		parts = append(parts, p.text("sum.setup", map[string]any{"Amount": l.Setup.String()}))
	}
	return strings.Join(parts, " · ")
}

// totals are the sums below the table.
func (p *sheet) totals() {
	tax := p.r.document.Tax
	data := map[string]any{"Name": tax.Name, "Percent": money.Percent(tax.BasisPoints)}
	sums := [][2]string{{p.text("sum.subtotal", nil), p.r.subtotal.String()}}
	if p.r.discount > 0 {
		sums = append(sums, [2]string{p.text("sum.discount", nil), "-" + p.r.discount.String()})
	}
	if tax.BasisPoints > 0 && !tax.Included {
		sums = append(sums, [2]string{p.text("sum.tax", data), p.r.tax.String()})
	}
	y := p.room(p.GetY()+2, float64(len(sums)+3)*6)
	x, width := margin+pageWidth-90, 90.0
	for _, sum := range sums {
		p.font("", 9)
		p.put(x, y, width-32, "L", sum[0])
		p.put(x+width-32, y, 32, "R", sum[1])
		y += 5.5
	}
	p.SetDrawColor(0, 0, 0)
	p.Line(x, y+0.5, x+width, y+0.5)
	y += 2
	p.font("B", 11)
	p.put(x, y, width-36, "L", p.text("sum.total", nil))
	p.put(x+width-36, y, 36, "R", p.r.total.String()+" USD")
	y += 7
	if tax.BasisPoints > 0 && tax.Included {
		p.font("", 9)
		data["Amount"] = p.r.taxIncluded.String()
		y = p.block(x, y, width, p.text("sum.tax_included", data))
	}
	p.SetY(y)
}

// notes are the sentences at the end.
func (p *sheet) notes() {
	var notes []string
	if note := p.r.document.Tax.Note; note != "" {
		notes = append(notes, p.text("note."+note, nil))
	}
	if strings.HasPrefix(p.r.seller, sandboxPrefix) {
		notes = append(notes, p.text("note.sandbox", nil))
	}
	switch p.r.kind {
	case Invoice:
		notes = append(notes, p.text("note.invoice", map[string]any{"Day": p.day(p.r.issuedAt)}))
	case CreditNote:
		notes = append(notes, p.text("note.credit_note", nil))
	case Receipt:
		notes = append(notes, p.text("note.receipt", nil))
	case Proforma:
		notes = append(notes, p.text("note.proforma", nil))
	}
	p.font("", 9)
	y := p.GetY() + gap
	for _, note := range notes {
		y = p.room(y, float64(len(p.wrap(note, pageWidth)))*rowHeight)
		y = p.block(margin, y, pageWidth, note) + 1
	}
}
