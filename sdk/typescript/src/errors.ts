/** A refusal of the server. Branch on its key, which never changes; never on its message, which is translated. */
export class SteadError extends Error {
	override readonly name = "SteadError";

	constructor(
		/** Status of HTTP. */
		readonly status: number,
		/** What to branch on, such as insufficient_funds; "" when something between answered. */
		readonly key: string,
		message: string,
		/** With validation_failed: what is wrong with each field. */
		readonly fields: Record<string, string[]> = {},
		/** Seconds after which the server may be asked again, when it says so. */
		readonly retryAfter?: number,
		/** What to tell the company's support. */
		readonly requestId?: string,
		/** The whole answer; some keys add members. */
		readonly body?: unknown,
	) {
		super(message);
	}

	static async read(response: Response): Promise<SteadError> {
		let told: { error?: string; message?: string; errors?: Record<string, string[]> } = {};
		try {
			told = JSON.parse(await response.text()) as typeof told;
		} catch {
			// A page of something between: the status has to do.
		}
		const after = response.headers.get("Retry-After");
		let seconds: number | undefined;
		if (after !== null) {
			seconds = /^\d+$/.test(after) ? Number(after) : Math.max(0, (Date.parse(after) - Date.now()) / 1000);
			if (Number.isNaN(seconds)) seconds = undefined;
		}
		return new SteadError(
			response.status,
			told.error ?? "",
			told.message ?? `${response.status} ${response.statusText}`,
			told.errors,
			seconds,
			response.headers.get("X-Request-Id") ?? undefined,
			told,
		);
	}
}

/** Whether an error is a refusal with the key. */
export function hasKey(error: unknown, key: string): error is SteadError {
	return error instanceof SteadError && error.key === key;
}
