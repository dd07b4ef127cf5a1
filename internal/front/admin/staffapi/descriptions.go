package staffapi

// descriptions say what the summaries of operations leave out.
var descriptions = map[string]string{ //nolint:gosec // G101: it speaks of passwords and tokens, and has none
	"addons.waiting": "Such as a dedicated IP address: customers have paid for them, and nothing is set up by itself.",
	"addons.make":    "The customer sees what is entered, such as the address.",
	"addons.refuse":  "What was paid for it goes back to the wallet.",
	"articles.list":  "Also drafts, and posts before their day. `drafts=true` has those with a text that is a draft.",
	"articles.get":   "With all texts as they were written, and the `version` that a change of it names.",
	"articles.create": "In one language, as a draft. `dry_run=true` only checks it and answers the preview. What is wrong with the text is named " +
		"with its line.",
	"articles.save": "A text in a new language is a draft; another one stays what it is, so a published one is changed for its readers at once. " +
		"`dry_run=true` only checks it and answers the preview. Refused with `conflict` when `version` is not the article's any more. " +
		"`category`, `position` and `published_at` are the same in all languages.",
	"articles.publish":  "`version` is the one that was read: what somebody else changes meanwhile is not published unseen.",
	"articles.withdraw": "It is a draft again; other languages stay published.",
	"articles.remove":   "With its last text the article is gone. Refused with `article_linked` while other articles lead to it.",
	"articles.pictures": "Those that were uploaded, imported, or came with the library, by name.",
	"articles.add_picture": "A text shows it by `![what it shows](path)`. The type is found out from the content; drawings (SVG) are documents and come by the " +
		"import alone. A JPEG is kept without its metadata, such as where it was taken. A name is used once.",
	"articles.remove_picture": "Refused with `article_picture_shown` while an article shows it, a draft too.",
	"catalog.export":          "The file that the import takes: products, plans, prices and limits.",
	"catalog.import":          "`dry_run=true` says what would change, and changes nothing. `changes` has it line by line, with how many services live on each plan.",
	"coupons.list":            "With what each has given.",
	"coupons.create":          "The code is what customers enter. A coupon is not changed afterwards, only ended.",
	"coupons.disable":         "No further order is made or paid with it.",
	"currencies.list":         "Prices are kept in US dollars; a rate says how they are shown.",
	"currencies.set":          "Prices are kept in US dollars; the rate says how they are shown.",
	"customers.list":          "`q` finds a part of the name or address.",
	"customers.get":           "Money, counts of what the customer has, and the notes of staff, which the customer does not see.",
	"customers.credit":        "Needs an `Idempotency-Key`. The customer reads the reason beside the movement.",
	"customers.debit": "Needs an `Idempotency-Key`. More than the customer can spend is refused. The customer reads the reason beside " +
		"the movement.",
	"customers.ledger":           "Each movement with its reason and what it belongs to.",
	"customers.take_back":        "Needs an `Idempotency-Key`. The customer reads the reason beside the movement.",
	"customers.add_note":         "Other staff see it with its author.",
	"customers.remove_note":      "The audit log says that it was removed.",
	"customers.reset_two_factor": "The password is enough from then on: make sure that it is the owner who asks.",
	"customers.suspend": "All sessions end, sign-ins are refused, and so are the tokens of applications until the account is open again. " +
		"Services go on.",
	"customers.unsuspend": "The owner signs in anew; tokens of applications work again.",
	"dashboard": "Sales by day, recurring revenue, churn, the renewals ahead and whether wallets cover them. `needs_attention` has " +
		"what is stuck or waits for somebody; the list of its kind takes that kind as `attention` and has exactly those rows. Jobs are `state=retryable` with " +
		"`min_attempts=3`, and `state=discarded`; tickets are those in `open`.",
	"domain_prices.export": "The file that the import takes.",
	"domain_prices.import": "`dry_run=true` says what would change, and changes nothing.",
	"incidents.list":       "As the page of the status shows them.",
	"incidents.open": "It is on the page of the status at once, and subscribers are mailed. Title and message can be given in several " +
		"languages.",
	"incidents.update": "It is on the page of the status at once, and subscribers are mailed.",
	"documents.list":   "Of all customers, or of one. A document is never changed; a credit note corrects an invoice.",
	"jobs.list": "Without `state` these are the jobs that were tried and are not done: retried by themselves, given up, or " +
		"cancelled. `request_id` has what a request enqueued, as long as the queue keeps it.",
	"jobs.get": "With the error of each attempt that has failed, as far as the queue keeps them.",
	"jobs.cancel": "For a job that cannot succeed any more. What it was to do stays undone until somebody does it. One that runs is told to stop; " +
		"what it has done already stays, and one that completes all the same is done. A job that is done is refused with `nothing_to_cancel`.",
	"jobs.retry":           "Also after its last attempt. A job reads the present state first, so doing it twice does no harm.",
	"maintenance.list":     "As the page of the status shows it.",
	"maintenance.schedule": "It is on the page of the status at once, and subscribers are mailed.",
	"maintenance.cancel":   "It leaves the page of the status.",
	"me": "`operations` are the ids of those that the role may call. Refused with `second_factor_required` until one is " +
		"switched on.",
	"moves.list":        "`running=true` has those that are under way.",
	"moves.get":         "A step is tried again by itself while something is in its way.",
	"moves.cancel":      "The service stays where it is. Refused once it is served from its new place.",
	"nodes.list":        "As each machine has said last. `attention` has exactly those that the dashboard counts.",
	"nodes.maintenance": "Services that are there stay, and serve on as far as the work lets them.",
	"nodes.set": "What is left out stays as it is. Services that are there stay, also those whose plans ask for other labels. `warning` says what keeps " +
		"services from the node.",
	"nodes.drain":    "Services that are there stay.",
	"nodes.evacuate": "The moves say how far it is. Refused with `no_suited_node` when no node at the location, with the labels, has what some service needs; a node that is only full is waited for.",
	"nodes.recover":  "For a machine that does not come back: what was written after the newest backups is lost.",
	"nodes.rejoin":   "The token is shown this once. The machine takes the node's name.",
	"nodes.resume":   "It takes back a drain.",
	"nodes.upgrade": "The node gets the program of the replica that answers, and runs it at once. It is back when `nodes.list` has it with that version; wait for that before " +
		"you upgrade the next one. A program that does not start there, or cannot reach the control plane, gives its place back to the former one within two minutes. A node that runs " +
		"the version already is left alone. Refused with `upgrade_off` where the machine's operator has not allowed it (`STEAD_NODE_UPGRADES`), and with `upgrade_packaged` where the program is a package's.",
	"orders.list": "Of all customers, or of one. `attention` has exactly those that the dashboard counts.",
	"orders.get":  "With what was paid, and how far the delivery is.",
	"orders.refund": "Needs an `Idempotency-Key`. At most what was paid and is not refunded yet; all of it without an amount. The " +
		"reason is printed on the credit note.",
	"orders.retry":   "For an order that is paid and not delivered. Refused when nothing waits for another attempt.",
	"queues.list":    "With what waits and runs in each.",
	"queues.pause":   "In all processes, within seconds. What runs goes on; what is enqueued waits, customers' orders too, so a queue is not paused for long.",
	"queues.resume":  "What has waited comes in its order.",
	"reviews.list":   "`pending` are those that nobody has decided on.",
	"reviews.decide": "`version` is the one that was read: what its author changes meanwhile is not published unseen.",
	"search": "A part of a name or address, a domain, the number of an order or invoice, an IP address, or the id of a request: " +
		"what it changed by staff or a reseller, the jobs that it enqueued, as long as the queue keeps them, and the services and orders that these work for. " +
		"A request that only read, or was refused, is in the program's log alone.",
	"settings.list":      "As the process that answers began with them; they are changed where `source` says, and take effect with a restart. Of secrets only whether they are set.",
	"sections.list":      "A section is a part of the interface, such as domains or AI.",
	"sections.set":       "It takes effect in all processes. Nothing of the section is deleted.",
	"services.list":      "Of all customers, of one, or of one machine. `attention` has exactly those that the dashboard counts.",
	"services.get":       "With its plan, its machine, and until when it is paid.",
	"services.move":      "Without a node, to the one that suits it best. The moves say how far it is.",
	"services.restore":   "As long as its final backup is kept.",
	"services.retry":     "For a service whose account could not be made. Refused when nothing waits for another attempt.",
	"services.suspend":   "Its sites, mail and access are switched off; its data is kept.",
	"services.terminate": "The final backup is kept as long as its product says.",
	"services.unsuspend": "Its sites, mail and access work again.",
	"sla.list":           "What was promised and measured, and the credit that follows from it.",
	"sla.decide":         "A credit that is paid goes to the customer's wallet.",
	"staff.list":         "Each with its role.",
	"staff.remove":       "Only owners may.",
	"staff.set_role":     "Only owners may. The account needs a second factor for what staff do.",
	"domains.list": "Each with what its registry was asked last, and what came of it. A registry is asked again by itself; `attention` has exactly those " +
		"that the dashboard counts.",
	"certificates.list":   "With why the last order of each failed. It is ordered again by itself; `attention` has exactly those that the dashboard counts.",
	"webhooks.endpoints":  "With since when nothing has arrived. `attention` has exactly those that the dashboard counts.",
	"templates.list":      "Also those that are not offered.",
	"templates.set":       "A template that is not offered is for customers as if it were not there: no list or page has it, and it cannot be installed. Sites that were made of it stay.",
	"templates.preview":   "Also of a template that is not offered. One document that loads nothing and runs no script, in a sandbox.",
	"templates.thumbnail": "Also of a template that is not offered.",
	"topups.waiting":      "Such as bank transfers, whose arrival only the bank's statement tells.",
	"topups.confirm":      "`received_usd_cents` is what has arrived; it must equal the amount to pay.",
	"webhooks.deliveries": "With the status of the answer, or why there was none.",
}
