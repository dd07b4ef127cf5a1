// Package stead calls the API of a Stead server: a hosting company's services, domains, mail, databases, money.
//
//	c, err := stead.New("https://my.example.com", stead.WithToken(token))
//	for s, err := range c.Services.All(ctx, stead.ServicesQuery{Status: stead.ServiceStatusActive}) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(s.ID, s.Label)
//	}
//
// A customer's program signs in by package oauth, or has a token; a reseller's has an API key and uses [NewReseller].
// Webhooks are verified by package webhook.
//
// # Errors
//
// A refusal is an [*Error]. Branch on its key, which never changes, by [HasKey]; never on its message, which is
// translated.
//
// # Retries
//
// A call is tried again after 429 and 503, as late as Retry-After says, and after a broken connection, 500, 502 and 504
// where that is safe: reads, changes and deletions are, and so is every operation that moves money, because it carries an
// Idempotency-Key that stays the same over the tries. What creates something without such a key is not tried again
// when it may have happened already. See [WithRetries].
//
// # Null and absent
//
// Where a member may be null, its field is a pointer; where a request may leave a member out, its field is a pointer too,
// and nil leaves it out. Where both are possible the field is an [Optional], whose zero value is left out. [Ptr] makes a
// pointer of a value. Members that this version does not know are ignored.
package stead
