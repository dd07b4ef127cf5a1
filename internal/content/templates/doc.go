// Package templates owns the site templates that customers begin with (specification, "Content" and "Embeds";
// resources, section 12), which of them was put on which service, in the table templates_installations, and which ones staff do
// not offer, in the table templates_hidden.
//
// The templates are files of this package, in library/<slug>: template.toml says what a template is, page.html is its
// page as an html/template, texts.<lang>.toml are the page's texts, and thumbnails are pictures of the page made by a
// browser (make thumbnails). A site made of a template is three static files that load nothing from elsewhere.
//
// What holds:
//
//   - A preview is shown under an origin of its own, or in a sandbox (Content-Security-Policy). It sets no cookie, reads
//     none, runs no script and loads nothing. It is the one page that other sites may frame.
//   - A template that is not offered is for customers as if it were not there: no list, page or address has it, and it cannot be
//     installed. Sites that were made of it stay, and an installation that was begun before is done. Each request reads the table,
//     so what staff change holds in all processes at once.
//   - Putting a template on a service is a row and a job (see install). Files in the way are refused, or moved aside into
//     a folder of the account's home before they are replaced; the folder is never in the document root. The home page is
//     written last, each file whole. What fails for good is undone.
//   - The job may run twice, also at once, and after a crash at any point: it compares what is there with what should be.
package templates
