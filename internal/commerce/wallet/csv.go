package wallet

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
)

// csvBatch is how many movements are read at once for a file.
const csvBatch = 500

var csvHeader = []string{
	"id", "created_at", "type", "description", "amount_usd", "balance_after_usd", "reference_type", "reference_id", "client_ref",
}

// writeCSV writes the movements that the filter chooses, oldest first, with a line before
// and one after them where given (RFC 4180); after is told their sum. They are read in batches, so that a long
// history neither fills the memory nor keeps a transaction open.
func writeCSV(ctx context.Context, q db.Querier, to io.Writer, accountID int64, f Filter, before []string, after func(sum money.USDCents) []string) error {
	w := csv.NewWriter(to)
	w.UseCRLF = true
	if err := w.Write(csvHeader); err != nil {
		return err
	}
	if before != nil {
		if err := w.Write(before); err != nil {
			return err
		}
	}
	var sum money.USDCents
	for last, more := int64(0), true; more; {
		rows, err := following(ctx, q, accountID, f, last, csvBatch)
		if err != nil {
			return fmt.Errorf("wallet: write a history: %w", err)
		}
		for _, t := range rows {
			if err := w.Write(csvRecord(ctx, t)); err != nil {
				return err
			}
			last, sum = t.ID, sum+t.Amount
		}
		more = len(rows) == csvBatch
	}
	if after != nil {
		if err := w.Write(after(sum)); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

func csvRecord(ctx context.Context, t transaction) []string {
	ref := ""
	if t.ClientRef != nil {
		ref = *t.ClientRef
	}
	return []string{
		strconv.FormatInt(t.ID, 10), t.CreatedAt.UTC().Format(time.RFC3339), string(t.Type), cell(t.words(ctx)), dollars(t.Amount),
		dollars(t.BalanceAfter), t.Reference.Type, strconv.FormatInt(t.Reference.ID, 10), cell(ref),
	}
}

// csvBalance is a line of a statement that names a balance.
func csvBalance(words string, at time.Time, balance money.USDCents) []string {
	return []string{"", at.UTC().Format(time.RFC3339), "", cell(words), "", dollars(balance), "", "", ""}
}

// cell keeps a text that somebody chose from being a formula where the file is opened: a
// spreadsheet takes what begins with one of these characters for one, also behind blanks
// (OWASP, "CSV Injection"). The apostrophe before it is what spreadsheets mark text with.
func cell(text string) string {
	// A separator of lines or cells inside of a text is quoted by the writer, but some
	// programs break it in two all the same.
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
	if strings.ContainsAny(firstOf(strings.TrimLeft(text, " \u00a0\ufeff\u200b")), "=+-@＝＋－＠|%") {
		return "'" + text
	}
	return text
}

// firstOf is the first character of a text.
func firstOf(text string) string {
	for i := range text {
		if i > 0 {
			return text[:i]
		}
	}
	return text
}

// dollars is an amount as spreadsheets read numbers: -12.50.
func dollars(c money.USDCents) string {
	sign, n := "", uint64(c) //nolint:gosec // two's complement: the negative of a negative number is exact
	if c < 0 {
		sign, n = "-", -n
	}
	return fmt.Sprintf("%s%d.%02d", sign, n/100, n%100)
}
