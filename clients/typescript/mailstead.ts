// The client of Mailstead's API, in one file without dependencies. Made by generate.ts: change the routes, not this.
/**
 * The part of the client that is written by hand; `generate.ts` puts it in front of the methods in `mailstead.ts`. One request: its
 * address, its body, its answer or a MailsteadError. It needs `fetch` and nothing else: Node 20 and newer, or a browser.
 *
 * 429 and 503 are tried again after their Retry-After, where that cannot do anything twice: reading, deleting, changing, and whatever has
 * an Idempotency-Key. A send gets a key of its own when none is given. A wait that is longer than the bound is told by the error.
 */
export interface MailsteadOptions {
  /** Where the service is, such as `https://mail.example.com`. */
  readonly baseUrl: string
  readonly apiKey: string
  /** Further tries after the first; 2 when not given. */
  readonly retries?: number
  /** The longest Retry-After that is waited for; 30 when not given. */
  readonly maxRetrySeconds?: number
  readonly fetch?: typeof fetch
}

export interface CallOptions {
  /** For sends: the same key with the same message is sent once, whatever happens on the way. */
  readonly idempotencyKey?: string
  readonly signal?: AbortSignal
}

/** One field that is wrong: where (`to.1.email`) and why. */
export interface Detail {
  readonly path: string
  readonly message: string
}

/** Everything but a success. */
export class MailsteadError extends Error {
  readonly status: number
  /** Such as VALIDATION_ERROR; UNKNOWN when the answer was not Mailstead's. */
  readonly code: ErrorCode
  readonly details: readonly Detail[]
  /** Seconds; null when trying again is of no use. */
  readonly retryAfter: number | null
  /** Quote it when you report a fault. */
  readonly requestId: string | null

  constructor(response: Response, answer: unknown) {
    const { error, message, details } = isObject(answer) ? answer : {}
    super(typeof message === 'string' ? message : `The server answered ${response.status}.`)
    this.name = 'MailsteadError'
    this.status = response.status
    this.code = typeof error === 'string' ? (error as ErrorCode) : 'UNKNOWN'
    this.details = Array.isArray(details) ? (details as Detail[]) : []
    this.retryAfter = readSeconds(response.headers.get('retry-after'))
    this.requestId = response.headers.get('x-request-id')
  }
}

export type ErrorCode = ErrorBody['error'] | 'UNKNOWN'

interface Input {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: object
  readonly body?: unknown
}

interface Operation {
  readonly method: string
  /** With `{name}` where a parameter stands. */
  readonly path: string
  /** It reads the Idempotency-Key. */
  readonly isIdempotent?: true
}

const UNWANTED_TWICE = 'POST'

class Transport {
  readonly #options: MailsteadOptions

  constructor(options: MailsteadOptions) {
    this.#options = options
  }

  /** @throws MailsteadError, and what `fetch` throws when the server cannot be reached. */
  async call<T>(operation: Operation, input: Input, options: CallOptions = {}): Promise<T> {
    const key = operation.isIdempotent === true ? (options.idempotencyKey ?? crypto.randomUUID()) : undefined
    const isSafe = operation.method !== UNWANTED_TWICE || key !== undefined
    const { retries = 2, maxRetrySeconds = 30 } = this.#options
    for (let tries = 0; ; tries++) {
      const response = await this.#send(operation, input, key, options.signal)
      if (response.ok) return (await read(response)) as T
      const error = new MailsteadError(response, await read(response))
      const mayTryAgain =
        response.status === 429 || (isSafe && (response.status === 503 || error.code === 'IDEMPOTENCY_IN_PROGRESS'))
      if (!mayTryAgain || tries >= retries || error.retryAfter === null || error.retryAfter > maxRetrySeconds)
        throw error
      await pause(error.retryAfter * 1000, options.signal)
    }
  }

  #send(
    { method, path }: Operation,
    input: Input,
    key: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Response> {
    const { body } = input
    const isRaw = typeof body === 'string' || body instanceof Blob
    return (this.#options.fetch ?? fetch)(addressOf(this.#options.baseUrl, path, input), {
      method,
      headers: {
        authorization: `Bearer ${this.#options.apiKey}`,
        ...(key === undefined ? {} : { 'idempotency-key': key }),
        ...(body === undefined ? {} : { 'content-type': isRaw ? 'text/csv' : 'application/json' }),
      },
      ...(body === undefined ? {} : { body: isRaw ? body : JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    })
  }
}

function addressOf(baseUrl: string, path: string, { params = {}, query = {} }: Input): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== null) search.append(name, String(value))
  return `${baseUrl.replace(/\/+$/, '')}${filled}${search.size === 0 ? '' : `?${search.toString()}`}`
}

/** JSON parsed, anything else as text, nothing as undefined. */
async function read(response: Response): Promise<unknown> {
  const text = await response.text()
  if (text === '') return undefined
  if (response.headers.get('content-type')?.startsWith('application/json') !== true) return text
  return JSON.parse(text)
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

function readSeconds(text: string | null): number | null {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(done, ms)
    signal?.addEventListener('abort', done, { once: true })
    function done(): void {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      if (signal?.aborted === true) reject(signal.reason as Error)
      else resolve()
    }
  })
}

export type AcceptedBatchItem = {
  /** msg_<epoch ms>_<suffix>, or scheduled_msg_…; each form of the id is accepted everywhere */
  readonly id: string
  readonly from: string
  readonly to: readonly string[]
  readonly subject: string
  readonly created_at: string
  readonly metadata: {
    readonly priority: "instant" | "high" | "normal" | "bulk"
    /** such as 0-5 seconds */
    readonly estimated_delivery: string
    readonly recipients_count: number
  }
  /** em_<suffix> */
  readonly email_id: string
  readonly success: true
  readonly message: string
  readonly object: "email"
  readonly status: "queued"
  readonly queue: "instant" | "high" | "async" | "bulk"
  /** such as 0-5 seconds */
  readonly estimated_delivery: string
  readonly data: {
    readonly id: string
    readonly job_id: string
    readonly priority: "instant" | "high" | "normal" | "bulk"
    readonly recipients: number
    readonly status: "queued"
  }
  /** its index in `messages` */
  readonly index: number
}

export type Account = {
  readonly id: string
  readonly object: "account"
  readonly type: "smtp" | "oauth"
  /** the OAuth provider; null for SMTP credentials */
  readonly provider: string | null
  readonly name: string
  readonly host: string
  readonly port: number
  readonly security: "tls" | "starttls" | "none"
  readonly username: string
  /** the addresses allowed in From */
  readonly addresses: readonly string[]
  readonly status: "active" | "paused"
  readonly paused_reason: string | null
  readonly paused_at: string | null
  readonly connections: number
  readonly messages_per_connection: number
  readonly messages_per_minute: number | null
  readonly created_at: string
  readonly updated_at: string
}

export type AccountAnswer = {
  readonly success: true
  readonly message: string
  readonly data: Account
}

/** A connected account can no longer sign in; its mail waits until it is connected again. */
export type AccountPausedEvent = {
  /** evt_…, the same at every attempt */
  readonly id: string
  readonly type: "account.paused"
  /** the same as type */
  readonly event: "account.paused"
  readonly timestamp: string
  readonly workspace_id: string
  readonly email_id: string | null
  readonly message_id: string | null
  /** the address the event is about */
  readonly recipient: string | null
  /** the addresses in the To header of the message */
  readonly to: readonly string[] | null
  readonly subject: string | null
  /** orders the events of one message */
  readonly sequence: number | null
  /** the metadata that the sender gave with the message */
  readonly metadata: Readonly<Record<string, unknown>>
  /** further fields of the event */
  readonly data: Readonly<Record<string, unknown>>
}

export type AccountTest = {
  readonly ok: boolean
  /** in order; if `ok` is false, the last one failed */
  readonly steps: readonly ({
    readonly step: "dns" | "connect" | "greeting" | "tls" | "auth" | "mail"
    readonly ok: boolean
    readonly detail: string
  })[]
  /** the SMTP conversation, without secrets */
  readonly conversation: string
  readonly duration_ms: number
  readonly tested_at: string
}

export type AddAudienceBody = {
  readonly name: string
  readonly description?: string | null
  /** subscribers of the form confirm by a link in a mail */
  readonly double_opt_in?: boolean | null
}

export type AddContactAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly id: string
  }
}

export type AddContactBody = {
  /** an email address; stored in lower case */
  readonly email: string
  readonly audience_id: string | null
  readonly first_name?: string | null
  readonly last_name?: string | null
  /** split into first and last name, unless these are given */
  readonly name?: string | null
  readonly company_name?: string | null
  readonly job_title?: string | null
  readonly phone_number?: string | number | null
  /** URL of the profile, http or https */
  readonly linkedin?: string | null
  /** IANA time zone */
  readonly timezone?: string | null
  readonly tags?: string | readonly string[] | null
  /** merged into the stored attributes, key by key */
  readonly custom_attributes?: Readonly<Record<string, unknown>> | null
}

export type AddDomainBody = {
  /** such as example.com; in any case, also an internationalised name */
  readonly domain: string
  /** cannot be changed later; by default us-east-1 */
  readonly region?: "us-east-1" | "ap-southeast-1" | "af-south-1" | null
}

export type AddSuppressionsAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly added: number
    readonly strengthened: number
    readonly unchanged: number
    readonly suppressions: readonly Suppression[]
  }
}

export type AddSuppressionsBody = {
  readonly email?: string
  readonly reason?: string | null
  readonly kind?: "complaint" | "hard_bounce" | "unsubscribe" | "manual" | "import" | null
  readonly suppressions?: readonly (string | {
    readonly email?: string
    readonly reason?: string | null
    readonly kind?: "complaint" | "hard_bounce" | "unsubscribe" | "manual" | "import" | null
  })[]
}

export type Audience = {
  readonly id: string
  readonly name: string
  readonly description: string | null
  readonly contactCount: number
  readonly contact_count: number
  /** the public signup form */
  readonly subscribeUrl: string
  /** subscribers of the form confirm by a link in a mail */
  readonly double_opt_in: boolean
  readonly createdAt: string
  readonly created_at: string
  readonly updatedAt: string
  readonly updated_at: string
}

export type AudienceAnswer = {
  readonly success: true
  readonly message: string
  readonly data: Audience
}

export type AutomationAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly id: string
    readonly name: string
    readonly status: "draft" | "active" | "paused" | "archived"
    readonly trigger_type: "contact_event" | "contact_added_to_audience" | "date_time" | "manual"
    readonly trigger_config: Readonly<Record<string, unknown>>
    readonly version: number
    readonly step_count: number
    readonly enrolled_count: number
    readonly completed_count: number
    readonly active_count: number
    readonly created_at: string
    readonly updated_at: string
    readonly createdAt: string
    readonly updatedAt: string
    readonly steps: readonly ({
      readonly id: string
      readonly type: string
    } & Readonly<Record<string, unknown>>)[]
    /** for each step, how often it was passed and how many contacts wait at it; includes older versions */
    readonly step_counts: readonly {
      readonly step: string
      readonly passed: number
      readonly waiting: number
    }[]
  }
}

export type AutomationStep = {
  readonly id?: string
  readonly type: "send_email"
  readonly template_id?: string | "" | null
  readonly subject?: string | null
  /** HTML or text, detected */
  readonly body?: string | null
  /** the text part beside HTML; without a body it is the body */
  readonly text?: string | null
  readonly from?: string | {
    readonly email: string
    readonly name?: string
  } | null
  readonly from_name?: string | null
  readonly reply_to?: string | {
    readonly email: string
    readonly name?: string
  } | null
} | {
  readonly id?: string
  readonly type: "delay"
  readonly seconds?: number | null
  readonly minutes?: number | null
  readonly hours?: number | null
  readonly days?: number | null
  readonly weeks?: number | null
  /** together with unit */
  readonly amount?: number | null
  /** seconds, minutes, hours, days, weeks */
  readonly unit?: string | null
} | {
  readonly id?: string
  readonly type: "condition"
  readonly condition?: {
    readonly type: "opened"
    /** id of a send_email step; the latest mail of this automation when left out */
    readonly step?: string | null
  } | {
    readonly type: "clicked"
    /** id of a send_email step; the latest mail of this automation when left out */
    readonly step?: string | null
  } | {
    readonly type: "has_tag"
    readonly tag: string
  } | {
    readonly type: "attribute"
    /** a field such as first_name, a custom attribute, or event.<property> */
    readonly attribute?: string | null
    /** equals, not_equals, contains, not_contains, greater_than, less_than, exists, not_exists; equals when left out */
    readonly operator?: string | null
    readonly value?: string | number | boolean | null
  }
  readonly yes?: readonly AutomationStep[]
  readonly no?: readonly AutomationStep[]
} | {
  readonly id?: string
  readonly type: "wait_for_event"
  readonly seconds?: number | null
  readonly minutes?: number | null
  readonly hours?: number | null
  readonly days?: number | null
  readonly weeks?: number | null
  /** together with unit */
  readonly amount?: number | null
  /** seconds, minutes, hours, days, weeks */
  readonly unit?: string | null
  readonly event_name?: string | null
  readonly yes?: readonly AutomationStep[]
  readonly no?: readonly AutomationStep[]
} | {
  readonly id?: string
  readonly type: "add_tag"
  readonly tag: string
} | {
  readonly id?: string
  readonly type: "remove_tag"
  readonly tag: string
} | {
  readonly id?: string
  readonly type: "add_to_audience"
  readonly audience_id?: string | null
} | {
  readonly id?: string
  readonly type: "remove_from_audience"
  readonly audience_id?: string | null
} | {
  readonly id?: string
  readonly type: "webhook"
  readonly url: string
} | {
  readonly id?: string
  readonly type: "exit"
}

export type BatchAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly total: number
    readonly accepted: number
    readonly refused: number
    readonly results: readonly (AcceptedBatchItem | RefusedBatchItem)[]
  }
}

export type CampaignAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly id: string
    readonly name: string
    readonly status: "DRAFT" | "SCHEDULED" | "SENDING" | "PAUSED" | "SENT" | "COMPLETED" | "FAILED" | "CANCELLED"
    readonly reason: string | null
    readonly template_id: string | null
    readonly subject: string | null
    readonly from: string | null
    readonly from_name: string | null
    readonly reply_to: string | null
    readonly audience_ids: readonly string[]
    readonly segment_id: string | null
    readonly follows_id: string | null
    readonly test: {
      readonly subject_b: string
      readonly percent: number
      readonly minutes: number
      readonly winner: "a" | "b" | null
    } | null
    readonly spread_minutes: number | null
    readonly track_opens: boolean | null
    readonly track_clicks: boolean | null
    readonly scheduled_at: string | null
    readonly timezone: string | null
    readonly recipient_time: boolean
    readonly started_at: string | null
    readonly sent_at: string | null
    readonly ended_at: string | null
    readonly created_at: string
    readonly updated_at: string
    readonly createdAt: string
    readonly updatedAt: string
    readonly body: string | null
    readonly text: string | null
    readonly metrics: {
      readonly recipients: number
      readonly waiting: number
      readonly dispatched: number
      readonly delivered: number
      readonly opened: number
      readonly clicked: number
      readonly bounced: number
      readonly bounced_hard: number
      readonly bounced_soft: number
      readonly failed: number
      readonly complained: number
      readonly unsubscribed: number
      readonly suppressed: number
      readonly skipped: number
      readonly cancelled: number
      readonly machine_opened: number
      readonly machine_clicked: number
    }
    /** the metrics of both subjects of a test */
    readonly variants: {
      readonly a: {
        readonly recipients: number
        readonly waiting: number
        readonly dispatched: number
        readonly delivered: number
        readonly opened: number
        readonly clicked: number
        readonly bounced: number
        readonly bounced_hard: number
        readonly bounced_soft: number
        readonly failed: number
        readonly complained: number
        readonly unsubscribed: number
        readonly suppressed: number
        readonly skipped: number
        readonly cancelled: number
        readonly machine_opened: number
        readonly machine_clicked: number
      }
      readonly b: {
        readonly recipients: number
        readonly waiting: number
        readonly dispatched: number
        readonly delivered: number
        readonly opened: number
        readonly clicked: number
        readonly bounced: number
        readonly bounced_hard: number
        readonly bounced_soft: number
        readonly failed: number
        readonly complained: number
        readonly unsubscribed: number
        readonly suppressed: number
        readonly skipped: number
        readonly cancelled: number
        readonly machine_opened: number
        readonly machine_clicked: number
      }
    } | null
  }
}

export type CancelImportAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly id: string
    readonly status: "cancelled"
  }
}

export type CancelScheduledAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly id: string
    readonly status: "cancelled"
  }
}

export type CapturedEmail = {
  readonly id: string
  readonly received_at: string
  readonly mail_from: string
  readonly recipient: string
  readonly from: string | null
  readonly subject: string | null
  readonly email_id: string | null
  readonly tls: string | null
  /** bytes */
  readonly size: number
  readonly dkim: readonly ({
    readonly domain: string
    readonly selector: string
    readonly algorithm: string
    readonly result: string
    readonly comment: string | null
  })[]
}

export type ChangeTrackingBody = {
  readonly track_opens?: boolean | null
  readonly track_clicks?: boolean | null
  readonly privacy?: "full" | "truncated" | "none"
  readonly reply_to?: string | null
  /** name or id of a verified domain whose tracking record was found; null: the shared host name */
  readonly tracking_domain?: string | null
}

export type Contact = {
  readonly id: string
  readonly email: string
  readonly firstName: string | null
  readonly first_name: string | null
  readonly lastName: string | null
  readonly last_name: string | null
  readonly companyName: string | null
  readonly company_name: string | null
  readonly jobTitle: string | null
  readonly job_title: string | null
  readonly phoneNumber: string | null
  readonly phone_number: string | null
  readonly linkedin: string | null
  readonly timezone: string | null
  /** 0 to 1; null before the first calculation */
  readonly deliverabilityScore: number | null
  readonly emailVerificationDate: string | null
  readonly customHeaders: Readonly<Record<string, unknown>> | null
  /** in the requested audience, or the latest one; null if it is in no audience */
  readonly status: "subscribed" | "unsubscribed" | null
  /** blocked: on the suppression list */
  readonly globalStatus: "subscribed" | "blocked"
  /** opted out of all campaign and automation mail, whatever its memberships say */
  readonly optedOut: boolean
  readonly opted_out: boolean
  readonly tags: readonly string[]
  readonly customAttributes: Readonly<Record<string, unknown>>
  readonly custom_attributes: Readonly<Record<string, unknown>>
  readonly createdAt: string
  readonly updatedAt: string
}

export type ContactImport = {
  readonly id: string
  readonly object: "contact_import"
  readonly status: "uploading" | "waiting" | "running" | "done" | "failed" | "cancelled"
  readonly audienceId: string
  readonly audience_id: string
  readonly dryRun: boolean
  readonly dry_run: boolean
  /** what each column of the file means */
  readonly columns: readonly {
    readonly column: string
    readonly meaning: string
  }[]
  /** 0 to 1: the processed share of the bytes of the file */
  readonly progress: number
  readonly bytes: number
  readonly rows: {
    readonly read: number
    readonly added: number
    readonly updated: number
    readonly joined: number
    readonly duplicates: number
    readonly failed: number
    readonly blocked: number
    readonly unsubscribed: number
  }
  /** why it failed */
  readonly reason: string | null
  readonly createdAt: string
  readonly created_at: string
  readonly finishedAt: string | null
  readonly finished_at: string | null
}

export type ContactImportAnswer = {
  readonly success: true
  readonly message: string
  readonly data: ContactImport
}

/** A contact joined an audience. */
export type ContactSubscribedEvent = {
  /** evt_…, the same at every attempt */
  readonly id: string
  readonly type: "contact.subscribed"
  /** the same as type */
  readonly event: "contact.subscribed"
  readonly timestamp: string
  readonly workspace_id: string
  readonly email_id: string | null
  readonly message_id: string | null
  /** the address the event is about */
  readonly recipient: string | null
  /** the addresses in the To header of the message */
  readonly to: readonly string[] | null
  readonly subject: string | null
  /** orders the events of one message */
  readonly sequence: number | null
  /** the metadata that the sender gave with the message */
  readonly metadata: Readonly<Record<string, unknown>>
  /** further fields of the event */
  readonly data: Readonly<Record<string, unknown>>
}

/** A contact left an audience. */
export type ContactUnsubscribedEvent = {
  /** evt_…, the same at every attempt */
  readonly id: string
  readonly type: "contact.unsubscribed"
  /** the same as type */
  readonly event: "contact.unsubscribed"
  readonly timestamp: string
  readonly workspace_id: string
  readonly email_id: string | null
  readonly message_id: string | null
  /** the address the event is about */
  readonly recipient: string | null
  /** the addresses in the To header of the message */
  readonly to: readonly string[] | null
  readonly subject: string | null
  /** orders the events of one message */
  readonly sequence: number | null
  /** the metadata that the sender gave with the message */
  readonly metadata: Readonly<Record<string, unknown>>
  /** further fields of the event */
  readonly data: Readonly<Record<string, unknown>>
}

export type CountedSegment = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly id: string
    readonly object: "segment"
    readonly name: string
    readonly description: string | null
    readonly audienceId: string | null
    readonly audience_id: string | null
    readonly filter: Readonly<Record<string, unknown>>
    readonly createdAt: string
    readonly created_at: string
    readonly updatedAt: string
    readonly updated_at: string
    readonly contactCount: number
    readonly contact_count: number
  }
}

export type CreateAccountBody = {
  readonly name?: string | null
  readonly host: string | null
  readonly port?: number | null
  /** `tls` from the first byte, `starttls`, or `none` (only in networks that ALLOW_PRIVATE_TARGETS names) */
  readonly security?: "tls" | "starttls" | "none" | null
  readonly username: string | null
  readonly password: string | null
  /** the addresses allowed in From; by default the user name, if it is an address */
  readonly from?: string | readonly string[] | null
  readonly connections?: number | null
  readonly messages_per_connection?: number | null
  /** null: no limit */
  readonly messages_per_minute?: number | null
}

export type CreateAutomationBody = {
  readonly name: string | null
  /** draft, active, paused, archived */
  readonly status?: string | null
  /** contact_event: an event with this name is tracked for a contact; contact_added_to_audience: a contact joins the audience as a subscribed member, in any way; date_time: the given time comes: members of the audience, if one is given, and contacts enrolled earlier start then; manual: a contact is enrolled by the API */
  readonly trigger_type?: string | null
  readonly trigger_config?: Readonly<Record<string, unknown>> | null
  /** type and configuration together: {type, config} */
  readonly trigger?: {
    readonly type: string
    readonly config?: Readonly<Record<string, unknown>> | null
  } & Readonly<Record<string, unknown>> | string | null
  readonly steps?: readonly AutomationStep[] | null
  /** with new steps: enrolled contacts `finish` the version they started (the default), or `move` to the new one at their next step */
  readonly enrolled?: "finish" | "move" | null
}

export type CreateCampaignBody = {
  readonly name: string | null
  readonly template_id?: string | "" | null
  readonly subject?: string | null
  /** HTML or text, detected */
  readonly body?: string | null
  /** the text part beside HTML; without a body it is the body */
  readonly text?: string | null
  readonly from?: string | {
    readonly email: string
    readonly name?: string
  } | null
  readonly from_name?: string | null
  readonly reply_to?: string | {
    readonly email: string
    readonly name?: string
  } | null
  readonly audience_ids?: readonly string[] | string | null
  /** send only to contacts of the audiences that are in this segment */
  readonly segment_id?: string | null
  /** a test of two subjects */
  readonly test?: {
    /** the second subject */
    readonly subject_b: string
    /** share of the recipients in the test, half for each subject; the rest receives the winner */
    readonly percent?: number
    /** time after the start at which the winner is chosen: by clicks, then by opens */
    readonly minutes?: number
  } | null
  /** spread the mail evenly over this time */
  readonly spread_minutes?: number | null
  readonly track_opens?: boolean | null
  readonly track_clicks?: boolean | null
}

export type CreateDomainKeyAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly api_key: {
      readonly id: string
      readonly key_id: string
      readonly name: string
      readonly is_active: boolean
      readonly expires_at: string | null
      readonly created_at: string
    }
    /** shown only once */
    readonly secret_key: string
  }
}

export type CreateDomainKeyBody = {
  readonly name: string
  readonly custom_domain_id?: string | null
  /** for a key of a connected account; instead of custom_domain_id */
  readonly account_id?: string | null
  readonly expires_at?: string | null
}

export type CreateSegmentBody = {
  readonly name: string
  readonly description?: string | null
  readonly audience_id?: string | null
  /** Groups: {"all": […]}, {"any": […]}, {"not": {…}}. Conditions: {"tag": "vip", "has": true}; {"attribute": "plan", "op": "eq", "value": "pro"}; {"field": "firstName", "op": "contains", "value": "an"} with email, firstName, lastName, companyName, jobTitle, phoneNumber, linkedin, timezone, score, createdAt, updatedAt; {"status": "subscribed", "audienceId": "…"} with subscribed, unsubscribed, member, blocked; {"activity": "opened", "withinDays": 30} with opened, clicked, delivered, bounced, mailed. Operators: eq, ne, gt, lt, contains, exists; before and after for times. */
  readonly filter: Readonly<Record<string, unknown>>
}

export type CreateWebhookBody = {
  readonly url: string | null
  /** email.queued, email.scheduled, email.sent, email.delivered, email.deferred, email.bounced, email.failed, email.opened, email.clicked, email.complained, email.unsubscribed, email.cancelled, contact.subscribed, contact.unsubscribed, domain.verified, domain.degraded, account.paused; by default, or with *, all */
  readonly events?: string | readonly string[] | null
  readonly description?: string | null
  readonly is_active?: boolean | null
}

export type DeleteCapturedEmailAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly deleted: number
  }
}

export type DeleteSuppressionAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly removed: number
  }
}

export type DeleteSuppressionsBody = {
  readonly email?: string
  readonly reason?: string | null
  readonly kind?: "complaint" | "hard_bounce" | "unsubscribe" | "manual" | "import" | null
  readonly suppressions?: readonly (string | {
    readonly email?: string
    readonly reason?: string | null
    readonly kind?: "complaint" | "hard_bounce" | "unsubscribe" | "manual" | "import" | null
  })[]
}

export type DnsRecord = {
  readonly type: "TXT" | "MX" | "CNAME"
  readonly name: string
  readonly value: string
  /** the preference of an MX record */
  readonly priority: number | null
  readonly purpose: "dkim" | "spf" | "dmarc" | "mail_from" | "tracking"
  readonly description: string
  /** true: the domain is verified only with this record */
  readonly required: boolean
  /** the result of the last check; pending before the first */
  readonly status: "ok" | "missing" | "wrong" | "unknown" | "pending"
  /** what to correct */
  readonly message: string | null
}

export type Domain = {
  readonly id: string
  readonly domain: string
  readonly verification_status: "pending" | "verified" | "degraded" | "failed"
  /** the same as verification_status */
  readonly status: "pending" | "verified" | "degraded" | "failed"
  readonly mail_from_status: "pending" | "verified" | "failed"
  readonly tracking_status: "pending" | "verified" | "failed"
  readonly region: "us-east-1" | "ap-southeast-1" | "af-south-1"
  /** the host name that tracking links may use once tracking_status is verified; null if the service has no public host name */
  readonly tracking_host: string | null
  readonly dns_records: readonly DnsRecord[]
  /** records of replaced DKIM keys that can be removed from the zone */
  readonly dns_records_to_remove: readonly {
    readonly type: string
    readonly name: string
    readonly value: string
  }[]
  readonly registrar: string | null
  readonly registrar_name: string | null
  readonly registrar_iana_id: string | null
  readonly registrar_last_checked_at: string | null
  readonly dns_provider: string | null
  readonly last_checked_at: string | null
  readonly verified_at: string | null
  readonly created_at: string
}

export type DomainAnswer = {
  readonly success: true
  readonly message: string
  readonly data: Domain
}

/** The DNS records of a verified domain are gone; it may send for 24 more hours. */
export type DomainDegradedEvent = {
  /** evt_…, the same at every attempt */
  readonly id: string
  readonly type: "domain.degraded"
  /** the same as type */
  readonly event: "domain.degraded"
  readonly timestamp: string
  readonly workspace_id: string
  readonly email_id: string | null
  readonly message_id: string | null
  /** the address the event is about */
  readonly recipient: string | null
  /** the addresses in the To header of the message */
  readonly to: readonly string[] | null
  readonly subject: string | null
  /** orders the events of one message */
  readonly sequence: number | null
  /** the metadata that the sender gave with the message */
  readonly metadata: Readonly<Record<string, unknown>>
  /** further fields of the event */
  readonly data: Readonly<Record<string, unknown>>
}

/** The DNS records of a sending domain were found. */
export type DomainVerifiedEvent = {
  /** evt_…, the same at every attempt */
  readonly id: string
  readonly type: "domain.verified"
  /** the same as type */
  readonly event: "domain.verified"
  readonly timestamp: string
  readonly workspace_id: string
  readonly email_id: string | null
  readonly message_id: string | null
  /** the address the event is about */
  readonly recipient: string | null
  /** the addresses in the To header of the message */
  readonly to: readonly string[] | null
  readonly subject: string | null
  /** orders the events of one message */
  readonly sequence: number | null
  /** the metadata that the sender gave with the message */
  readonly metadata: Readonly<Record<string, unknown>>
  /** further fields of the event */
  readonly data: Readonly<Record<string, unknown>>
}

export type DryRunAutomationAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly steps: readonly ({
      readonly id: string
      readonly type: "send_email" | "delay" | "condition" | "wait_for_event" | "add_tag" | "remove_tag" | "add_to_audience" | "remove_from_audience" | "webhook" | "exit"
      readonly at: string
      /** the result of a condition, or whether the awaited event occurred */
      readonly answer: boolean | null
      /** why the mail cannot be sent now; the contact would wait at this step */
      readonly obstacle: string | null
    })[]
    readonly ends: "completed" | "exited"
    readonly reason: string | null
    readonly ends_at: string
  }
}

export type DryRunAutomationBody = {
  readonly email: string
  readonly properties?: Readonly<Record<string, unknown>> | null
  /** assume that its mails are opened */
  readonly opened?: boolean | null
  /** assume that their links are clicked */
  readonly clicked?: boolean | null
  /** names of events; assume that each occurs as soon as a step waits for it */
  readonly events?: readonly string[] | null
}

export type Email = {
  readonly id: string
  readonly object: "email" | "scheduled_email"
  readonly status: "scheduled" | "queued" | "sending" | "deferred" | "unknown" | "bounced" | "failed" | "sent" | "delivered" | "captured" | "suppressed" | "cancelled"
  readonly from: string
  readonly to: readonly string[]
  readonly subject: string
  readonly created_at: string
  readonly metadata: {
    readonly priority: "instant" | "high" | "normal" | "bulk"
    readonly estimated_delivery: string
    readonly recipients_count: number
  }
  readonly email_id: string
  readonly queue: string
  readonly success: true
  readonly message: string
  readonly data: {
    readonly id: string
    readonly object: "email" | "scheduled_email"
    readonly status: "scheduled" | "queued" | "sending" | "deferred" | "unknown" | "bounced" | "failed" | "sent" | "delivered" | "captured" | "suppressed" | "cancelled"
    readonly from: string
    readonly to: readonly string[]
    readonly subject: string
    readonly created_at: string
    readonly metadata: Readonly<Record<string, unknown>> | null
    readonly email_id: string
    readonly queue: string
    readonly priority: "instant" | "high" | "normal" | "bulk"
    readonly from_name: string | null
    readonly cc: readonly string[]
    readonly tags: readonly string[]
    readonly template: {
      readonly id: string
      readonly version: number
      readonly is_test: boolean
    } | null
    readonly campaign_id: string | null
    readonly scheduled_at: string | null
    readonly timezone: string | null
    readonly recipients: readonly ({
      readonly address: string
      readonly email: string
      readonly kind: "to" | "cc" | "bcc"
      readonly state: "scheduled" | "queued" | "sending" | "deferred" | "sent" | "unknown" | "delivered" | "captured" | "bounced" | "failed" | "suppressed" | "cancelled"
      readonly status: "scheduled" | "queued" | "sending" | "deferred" | "sent" | "unknown" | "delivered" | "captured" | "bounced" | "failed" | "suppressed" | "cancelled"
      readonly reason: string | null
      readonly tries: number
      readonly next_try_at: string | null
      readonly updated_at: string
      readonly attempts: readonly ({
        readonly attempt: number
        readonly at: string
        readonly outcome: string
        readonly scope: string | null
        readonly reason: string | null
        readonly reply: {
          readonly code: number | null
          readonly status: string | null
          readonly text: string | null
        } | null
        readonly host: string | null
        readonly address: string | null
        /** the egress source it left from; null: the operating system chose the address */
        readonly source: string | null
        readonly tls: string | null
        readonly duration_ms: number
        readonly conversation: string
      })[]
    })[]
    readonly attempts: readonly ({
      readonly attempt: number
      readonly at: string
      readonly outcome: string
      readonly scope: string | null
      readonly reason: string | null
      readonly reply: {
        readonly code: number | null
        readonly status: string | null
        readonly text: string | null
      } | null
      readonly host: string | null
      readonly address: string | null
      /** the egress source it left from; null: the operating system chose the address */
      readonly source: string | null
      readonly tls: string | null
      readonly duration_ms: number
      readonly conversation: string
      readonly recipient: string
    })[]
    readonly events: readonly ({
      readonly id: string
      readonly type: string
      readonly sequence: number
      readonly recipient: string
      readonly timestamp: string
      readonly data: Readonly<Record<string, unknown>> | null
    })[]
  }
}

/** The receiver refused the message permanently: hard if the address is bad, soft if it may be good. */
export type EmailBouncedEvent = {
  /** evt_…, the same at every attempt */
  readonly id: string
  readonly type: "email.bounced"
  /** the same as type */
  readonly event: "email.bounced"
  readonly timestamp: string
  readonly workspace_id: string
  readonly email_id: string | null
  readonly message_id: string | null
  /** the address the event is about */
  readonly recipient: string | null
  /** the addresses in the To header of the message */
  readonly to: readonly string[] | null
  readonly subject: string | null
  /** orders the events of one message */
  readonly sequence: number | null
  /** the metadata that the sender gave with the message */
  readonly metadata: Readonly<Record<string, unknown>>
  /** hard: for good; soft: given up for now */
  readonly bounce_type: "hard" | "soft" | null
  /** the enhanced status code, such as 5.1.1 */
  readonly bounce_code: string | null
  /** the class of the failure, such as no-such-user */
  readonly bounce_class: string | null
  /** the words of the remote server */
  readonly bounce_message: string | null
  /** further fields of the event */
  readonly data: Readonly<Record<string, unknown>>
}

/** The message was cancelled before it left. */
export type EmailCancelledEvent = {
  /** evt_…, the same at every attempt */
  readonly id: string
  readonly type: "email.cancelled"
  /** the same as type */
  readonly event: "email.cancelled"
  readonly timestamp: string
  readonly workspace_id: string
  readonly email_id: string | null
  readonly message_id: string | null
  /** the address the event is about */
  readonly recipient: string | null
  /** the addresses in the To header of the message */
  readonly to: readonly string[] | null
  readonly subject: string | null
  /** orders the events of one message */
  readonly sequence: number | null
  /** the metadata that the sender gave with the message */
  readonly metadata: Readonly<Record<string, unknown>>
  /** further fields of the event */
  readonly data: Readonly<Record<string, unknown>>
}

/** A tracked link was clicked. */
export type EmailClickedEvent = {
  /** evt_…, the same at every attempt */
  readonly id: string
  readonly type: "email.clicked"
  /** the same as type */
  readonly event: "email.clicked"
  readonly timestamp: string
  readonly workspace_id: string
  readonly email_id: string | null
  readonly message_id: string | null
  /** the address the event is about */
  readonly recipient: string | null
  /** the addresses in the To header of the message */
  readonly to: readonly string[] | null
  readonly subject: string | null
  /** orders the events of one message */
  readonly sequence: number | null
  /** the metadata that the sender gave with the message */
  readonly metadata: Readonly<Record<string, unknown>>
  /** the link that was followed */
  readonly url: string | null
  /** true: a scanner or a proxy, not the person */
  readonly machine: boolean | null
  /** further fields of the event */
  readonly data: Readonly<Record<string, unknown>>
}

/** The recipient reported the message as spam. */
export type EmailComplainedEvent = {
  /** evt_…, the same at every attempt */
  readonly id: string
  readonly type: "email.complained"
  /** the same as type */
  readonly event: "email.complained"
  readonly timestamp: string
  readonly workspace_id: string
  readonly email_id: string | null
  readonly message_id: string | null
  /** the address the event is about */
  readonly recipient: string | null
  /** the addresses in the To header of the message */
  readonly to: readonly string[] | null
  readonly subject: string | null
  /** orders the events of one message */
  readonly sequence: number | null
  /** the metadata that the sender gave with the message */
  readonly metadata: Readonly<Record<string, unknown>>
  /** further fields of the event */
  readonly data: Readonly<Record<string, unknown>>
}

/** The message could not be delivered now, and is tried again later. */
export type EmailDeferredEvent = {
  /** evt_…, the same at every attempt */
  readonly id: string
  readonly type: "email.deferred"
  /** the same as type */
  readonly event: "email.deferred"
  readonly timestamp: string
  readonly workspace_id: string
  readonly email_id: string | null
  readonly message_id: string | null
  /** the address the event is about */
  readonly recipient: string | null
  /** the addresses in the To header of the message */
  readonly to: readonly string[] | null
  readonly subject: string | null
  /** orders the events of one message */
  readonly sequence: number | null
  /** the metadata that the sender gave with the message */
  readonly metadata: Readonly<Record<string, unknown>>
  /** further fields of the event */
  readonly data: Readonly<Record<string, unknown>>
}

/** The remote server accepted the message: 250 on the final dot, or the provider's report. */
export type EmailDeliveredEvent = {
  /** evt_…, the same at every attempt */
  readonly id: string
  readonly type: "email.delivered"
  /** the same as type */
  readonly event: "email.delivered"
  readonly timestamp: string
  readonly workspace_id: string
  readonly email_id: string | null
  readonly message_id: string | null
  /** the address the event is about */
  readonly recipient: string | null
  /** the addresses in the To header of the message */
  readonly to: readonly string[] | null
  readonly subject: string | null
  /** orders the events of one message */
  readonly sequence: number | null
  /** the metadata that the sender gave with the message */
  readonly metadata: Readonly<Record<string, unknown>>
  /** further fields of the event */
  readonly data: Readonly<Record<string, unknown>>
}

export type EmailExplanation = {
  readonly success: true
  readonly message: string
  readonly data: {
    /** the first gate that holds it; null if none does */
    readonly held_by: "schedule" | "suppression" | "quota" | "tier" | "site limit" | "suspension" | "backoff" | "DNS" | "egress" | null
    /** where it is and why, as a sentence */
    readonly says: string
    readonly until: string | null
    readonly email_id: string
    readonly status: "scheduled" | "queued" | "sending" | "deferred" | "unknown" | "bounced" | "failed" | "sent" | "delivered" | "captured" | "suppressed" | "cancelled"
    readonly tier: "instant" | "high" | "normal" | "bulk"
    readonly recipients: readonly ({
      /** the first gate that holds it; null if none does */
      readonly held_by: "schedule" | "suppression" | "quota" | "tier" | "site limit" | "suspension" | "backoff" | "DNS" | "egress" | null
      /** where it is and why, as a sentence */
      readonly says: string
      readonly until: string | null
      readonly address: string
      readonly email: string
      readonly state: "scheduled" | "queued" | "sending" | "deferred" | "sent" | "unknown" | "delivered" | "captured" | "bounced" | "failed" | "suppressed" | "cancelled"
      readonly tries: number
      readonly next_try_at: string | null
      /** in the order in which they are evaluated */
      readonly gates: readonly ({
        readonly gate: "schedule" | "suppression" | "quota" | "tier" | "site limit" | "suspension" | "backoff" | "DNS" | "egress"
        readonly holds: boolean
        readonly says: string
        readonly rule: string | null
        readonly until: string | null
      })[]
    })[]
  }
}

/** The message could not or must not be sent, or its attempts or time ran out. */
export type EmailFailedEvent = {
  /** evt_…, the same at every attempt */
  readonly id: string
  readonly type: "email.failed"
  /** the same as type */
  readonly event: "email.failed"
  readonly timestamp: string
  readonly workspace_id: string
  readonly email_id: string | null
  readonly message_id: string | null
  /** the address the event is about */
  readonly recipient: string | null
  /** the addresses in the To header of the message */
  readonly to: readonly string[] | null
  readonly subject: string | null
  /** orders the events of one message */
  readonly sequence: number | null
  /** the metadata that the sender gave with the message */
  readonly metadata: Readonly<Record<string, unknown>>
  /** further fields of the event */
  readonly data: Readonly<Record<string, unknown>>
}

/** The tracking pixel was loaded. */
export type EmailOpenedEvent = {
  /** evt_…, the same at every attempt */
  readonly id: string
  readonly type: "email.opened"
  /** the same as type */
  readonly event: "email.opened"
  readonly timestamp: string
  readonly workspace_id: string
  readonly email_id: string | null
  readonly message_id: string | null
  /** the address the event is about */
  readonly recipient: string | null
  /** the addresses in the To header of the message */
  readonly to: readonly string[] | null
  readonly subject: string | null
  /** orders the events of one message */
  readonly sequence: number | null
  /** the metadata that the sender gave with the message */
  readonly metadata: Readonly<Record<string, unknown>>
  /** true: a scanner or a proxy, not the person */
  readonly machine: boolean | null
  /** further fields of the event */
  readonly data: Readonly<Record<string, unknown>>
}

/** The message is stored and waits for its turn. */
export type EmailQueuedEvent = {
  /** evt_…, the same at every attempt */
  readonly id: string
  readonly type: "email.queued"
  /** the same as type */
  readonly event: "email.queued"
  readonly timestamp: string
  readonly workspace_id: string
  readonly email_id: string | null
  readonly message_id: string | null
  /** the address the event is about */
  readonly recipient: string | null
  /** the addresses in the To header of the message */
  readonly to: readonly string[] | null
  readonly subject: string | null
  /** orders the events of one message */
  readonly sequence: number | null
  /** the metadata that the sender gave with the message */
  readonly metadata: Readonly<Record<string, unknown>>
  /** further fields of the event */
  readonly data: Readonly<Record<string, unknown>>
}

/** The message is stored and waits for the time its sender set. */
export type EmailScheduledEvent = {
  /** evt_…, the same at every attempt */
  readonly id: string
  readonly type: "email.scheduled"
  /** the same as type */
  readonly event: "email.scheduled"
  readonly timestamp: string
  readonly workspace_id: string
  readonly email_id: string | null
  readonly message_id: string | null
  /** the address the event is about */
  readonly recipient: string | null
  /** the addresses in the To header of the message */
  readonly to: readonly string[] | null
  readonly subject: string | null
  /** orders the events of one message */
  readonly sequence: number | null
  /** the metadata that the sender gave with the message */
  readonly metadata: Readonly<Record<string, unknown>>
  /** further fields of the event */
  readonly data: Readonly<Record<string, unknown>>
}

/** The message was handed to the remote SMTP conversation, or to the provider. */
export type EmailSentEvent = {
  /** evt_…, the same at every attempt */
  readonly id: string
  readonly type: "email.sent"
  /** the same as type */
  readonly event: "email.sent"
  readonly timestamp: string
  readonly workspace_id: string
  readonly email_id: string | null
  readonly message_id: string | null
  /** the address the event is about */
  readonly recipient: string | null
  /** the addresses in the To header of the message */
  readonly to: readonly string[] | null
  readonly subject: string | null
  /** orders the events of one message */
  readonly sequence: number | null
  /** the metadata that the sender gave with the message */
  readonly metadata: Readonly<Record<string, unknown>>
  /** further fields of the event */
  readonly data: Readonly<Record<string, unknown>>
}

/** The recipient used the unsubscribe link or header of the message. */
export type EmailUnsubscribedEvent = {
  /** evt_…, the same at every attempt */
  readonly id: string
  readonly type: "email.unsubscribed"
  /** the same as type */
  readonly event: "email.unsubscribed"
  readonly timestamp: string
  readonly workspace_id: string
  readonly email_id: string | null
  readonly message_id: string | null
  /** the address the event is about */
  readonly recipient: string | null
  /** the addresses in the To header of the message */
  readonly to: readonly string[] | null
  readonly subject: string | null
  /** orders the events of one message */
  readonly sequence: number | null
  /** the metadata that the sender gave with the message */
  readonly metadata: Readonly<Record<string, unknown>>
  /** further fields of the event */
  readonly data: Readonly<Record<string, unknown>>
}

export type EnrollContactBody = {
  readonly email: string
  readonly properties?: Readonly<Record<string, unknown>> | null
}

export type ErrorBody = {
  readonly success: false
  readonly error: "VALIDATION_ERROR" | "INVALID_TEMPLATE" | "UNAUTHORIZED" | "FORBIDDEN" | "INSUFFICIENT_SCOPE" | "PLAN_REQUIRED" | "NOT_FOUND" | "METHOD_NOT_ALLOWED" | "REQUEST_TIMEOUT" | "CONFLICT" | "IDEMPOTENCY_MISMATCH" | "IDEMPOTENCY_IN_PROGRESS" | "PAYLOAD_TOO_LARGE" | "UNSUPPORTED_MEDIA_TYPE" | "RATE_LIMITED" | "HEADERS_TOO_LARGE" | "INTERNAL_ERROR" | "SERVICE_UNAVAILABLE"
  readonly message: string
  /** on a VALIDATION_ERROR */
  readonly details?: readonly {
    /** the field, such as to.1.email; empty for the request as a whole */
    readonly path: string
    readonly message: string
  }[]
}

/** the payload of a webhook; some types have more fields */
export type Event = {
  readonly id: string
  readonly type: string
  readonly event: string
  readonly timestamp: string
  readonly workspace_id: string
  readonly email_id: string | null
  readonly message_id: string | null
  readonly recipient: string | null
  readonly to: readonly string[] | null
  readonly subject: string | null
  readonly sequence: number | null
  readonly metadata: Readonly<Record<string, unknown>>
  readonly data: Readonly<Record<string, unknown>>
} & Readonly<Record<string, unknown>>

export type FoundEmail = {
  readonly id: string
  readonly object: "email" | "scheduled_email"
  readonly status: "scheduled" | "queued" | "sending" | "deferred" | "unknown" | "bounced" | "failed" | "sent" | "delivered" | "captured" | "suppressed" | "cancelled"
  readonly from: string
  readonly to: readonly string[]
  readonly subject: string
  readonly created_at: string
  readonly metadata: {
    readonly priority: "instant" | "high" | "normal" | "bulk"
    readonly estimated_delivery: string
    readonly recipients_count: number
  }
  readonly email_id: string
  readonly queue: string
  readonly priority: "instant" | "high" | "normal" | "bulk"
  readonly from_name: string | null
  readonly tags: readonly string[]
  readonly scheduled_at: string | null
}

export type GetAudiencesAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly audiences: readonly Audience[]
    readonly page: number
    readonly limit: number
    readonly total: number
    readonly totalPages: number
    readonly meta: PageMeta
  }
}

export type GetAutomationCallsAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly calls: readonly ({
      readonly id: string
      readonly step: string
      readonly url: string
      readonly status: "pending" | "delivered" | "failed"
      readonly tries: number
      readonly next_try_at: string | null
      readonly answer: string | null
      readonly created_at: string
    })[]
    readonly page: number
    readonly limit: number
    readonly total: number
    readonly totalPages: number
    readonly meta: PageMeta
  }
}

export type GetAutomationsAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly automations: readonly ({
      readonly id: string
      readonly name: string
      readonly status: "draft" | "active" | "paused" | "archived"
      readonly trigger_type: "contact_event" | "contact_added_to_audience" | "date_time" | "manual"
      readonly trigger_config: Readonly<Record<string, unknown>>
      readonly version: number
      readonly step_count: number
      readonly enrolled_count: number
      readonly completed_count: number
      readonly active_count: number
      readonly created_at: string
      readonly updated_at: string
      readonly createdAt: string
      readonly updatedAt: string
    })[]
    readonly page: number
    readonly limit: number
    readonly total: number
    readonly totalPages: number
    readonly meta: PageMeta
  }
}

export type GetAutomationSubscribersAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly subscribers: readonly ({
      readonly id: string
      readonly contact_id: string
      readonly email: string
      readonly status: "active" | "completed" | "exited"
      readonly version: number
      readonly next_step: string | null
      readonly due_at: string | null
      readonly reason: string | null
      readonly enrolled_at: string
      readonly ended_at: string | null
    })[]
    readonly page: number
    readonly limit: number
    readonly total: number
    readonly totalPages: number
    readonly meta: PageMeta
  }
}

export type GetCampaignsAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly campaigns: readonly ({
      readonly id: string
      readonly name: string
      readonly status: "DRAFT" | "SCHEDULED" | "SENDING" | "PAUSED" | "SENT" | "COMPLETED" | "FAILED" | "CANCELLED"
      readonly reason: string | null
      readonly template_id: string | null
      readonly subject: string | null
      readonly from: string | null
      readonly from_name: string | null
      readonly reply_to: string | null
      readonly audience_ids: readonly string[]
      readonly segment_id: string | null
      readonly follows_id: string | null
      readonly test: {
        readonly subject_b: string
        readonly percent: number
        readonly minutes: number
        readonly winner: "a" | "b" | null
      } | null
      readonly spread_minutes: number | null
      readonly track_opens: boolean | null
      readonly track_clicks: boolean | null
      readonly scheduled_at: string | null
      readonly timezone: string | null
      readonly recipient_time: boolean
      readonly started_at: string | null
      readonly sent_at: string | null
      readonly ended_at: string | null
      readonly created_at: string
      readonly updated_at: string
      readonly createdAt: string
      readonly updatedAt: string
    })[]
    readonly page: number
    readonly limit: number
    readonly total: number
    readonly totalPages: number
    readonly meta: PageMeta
  }
}

export type GetCapturedEmailAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly id: string
    readonly received_at: string
    readonly mail_from: string
    readonly recipient: string
    readonly from: string | null
    readonly subject: string | null
    readonly email_id: string | null
    readonly tls: string | null
    /** bytes */
    readonly size: number
    readonly dkim: readonly ({
      readonly domain: string
      readonly selector: string
      readonly algorithm: string
      readonly result: string
      readonly comment: string | null
    })[]
    readonly headers: string
    readonly text: string | null
    readonly html: string | null
    /** null, like text and html, for messages above 256 KB: download them */
    readonly attachments: readonly ({
      readonly filename: string | null
      readonly content_type: string
      readonly size: number
    })[] | null
  }
}

export type GetCapturedEmailsAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly emails: readonly CapturedEmail[]
    readonly page: number
    readonly limit: number
    readonly total: number
    readonly totalPages: number
    readonly meta: PageMeta
  }
}

export type GetContactAnswer = {
  readonly success: true
  readonly message: string
  readonly data: Contact
}

export type GetContactsAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly contacts: readonly SlimContact[]
    readonly page: number
    readonly limit: number
    readonly total: number
    readonly totalPages: number
    readonly meta: PageMeta
  }
}

export type GetDomainsAnswer = {
  readonly success: true
  readonly message: string
  readonly data: readonly Domain[]
  readonly page: number
  readonly limit: number
  readonly total: number
}

export type GetImportErrorsAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly errors: readonly ({
      readonly line: number
      readonly column: string | null
      readonly message: string
      readonly value: string | null
    })[]
    /** rows that were not imported */
    readonly failed: number
  }
}

export type GetSuppressionAnswer = {
  readonly success: true
  readonly message: string
  readonly data: Suppression
}

export type GetTrackingAnswer = {
  readonly success: true
  readonly message: string
  readonly data: TrackingSettings
}

export type GetWorkspaceAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly id: string
    readonly name: string
    readonly plan: string
    readonly features: {
      readonly scheduling: boolean
    }
    readonly quota: {
      /** recipients in a calendar month (UTC); null: no limit */
      readonly limit: number | null
      readonly used: number
      readonly remaining: number | null
      readonly resets_at: string
    }
    readonly request_rate: {
      readonly per_second: number | null
    }
    readonly domains: {
      readonly limit: number | null
    }
    readonly keys: {
      readonly admin: number
      readonly admin_limit: number
      readonly regular: number
    }
    readonly capture: {
      /** mail to this address is captured instead of delivered: see get-captured-emails */
      readonly address: string
      /** mail to any address of this domain is captured too */
      readonly domain: string
    }
    readonly created_at: string
  }
}

export type ImportSuppressionsAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly added: number
    readonly strengthened: number
    readonly unchanged: number
    readonly invalid: number
    readonly errors: readonly ({
      readonly line: number | null
      readonly value: string
      readonly message: string
    })[]
  }
}

export type ImportSuppressionsBody = {
  readonly suppressions?: readonly (string | {
    readonly email?: string
    readonly address?: string
    readonly reason?: string | null
    readonly kind?: string | null
    readonly type?: string | null
  })[]
  readonly emails?: readonly (string | {
    readonly email?: string
    readonly address?: string
    readonly reason?: string | null
    readonly kind?: string | null
    readonly type?: string | null
  })[]
  readonly addresses?: readonly (string | {
    readonly email?: string
    readonly address?: string
    readonly reason?: string | null
    readonly kind?: string | null
    readonly type?: string | null
  })[]
}

export type ListAccountsAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly accounts: readonly Account[]
    readonly page: number
    readonly limit: number
    readonly total: number
    readonly totalPages: number
    readonly meta: PageMeta
  }
}

export type ListCampaignRecipientsAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly recipients: readonly ({
      readonly contact_id: string
      readonly email: string
      readonly state: "waiting" | "dispatched" | "deferred" | "sent" | "delivered" | "bounced" | "failed" | "suppressed" | "skipped" | "cancelled"
      readonly reason: string | null
      readonly bounce_type: "hard" | "soft" | null
      readonly variant: "a" | "b" | null
      readonly email_id: string | null
      readonly sends_at: string | null
      readonly dispatched_at: string | null
      readonly delivered_at: string | null
      readonly opened_at: string | null
      readonly clicked_at: string | null
      readonly bounced_at: string | null
      readonly failed_at: string | null
      readonly complained_at: string | null
      readonly unsubscribed_at: string | null
      readonly machine_opened_at: string | null
      readonly machine_clicked_at: string | null
    })[]
    readonly next: string | null
  }
}

export type ListEventsAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly events: readonly Event[]
    readonly next: string
    readonly has_more: boolean
  }
}

export type ListImportsAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly imports: readonly ContactImport[]
    readonly page: number
    readonly limit: number
    readonly total: number
    readonly totalPages: number
    readonly meta: PageMeta
  }
}

export type ListPartialsAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly partials: readonly {
      readonly name: string
      readonly version: number
      /** the number of templates that use it */
      readonly uses: number
      readonly created_at: string
      readonly updated_at: string
    }[]
  }
}

export type ListScheduledAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly emails: readonly WaitingEmail[]
    readonly page: number
    readonly limit: number
    readonly total: number
    readonly totalPages: number
    readonly meta: PageMeta
  }
}

export type ListSegmentContactsAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly contacts: readonly ({
      readonly id: string
      readonly email: string
      readonly firstName: string | null
      readonly first_name: string | null
      readonly lastName: string | null
      readonly last_name: string | null
      readonly companyName: string | null
      readonly company_name: string | null
      readonly jobTitle: string | null
      readonly job_title: string | null
      readonly phoneNumber: string | null
      readonly phone_number: string | null
      /** in the audience of the segment, or the latest one; null if it is in no audience */
      readonly status: "subscribed" | "unsubscribed" | null
      readonly tags: readonly string[]
      /** 0 to 1; null before the first calculation */
      readonly deliverabilityScore: number | null
      readonly createdAt: string
    })[]
    readonly limit: number
    readonly next: string | null
  }
}

export type ListSegmentsAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly segments: readonly Segment[]
    readonly page: number
    readonly limit: number
    readonly total: number
    readonly totalPages: number
    readonly meta: PageMeta
  }
}

export type ListSuppressionsAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly suppressions: readonly Suppression[]
    readonly page: number
    readonly limit: number
    readonly total: number
    readonly totalPages: number
    readonly meta: PageMeta
  }
}

export type ListTemplatesAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly templates: readonly ({
      readonly id: string
      readonly template_id: string
      readonly name: string
      readonly subject: string
      readonly body: string
      readonly text: string | null
      readonly format: "html" | "text" | "mjml"
      readonly sample_data: Readonly<Record<string, unknown>> | null
      readonly partials: readonly {
        readonly name: string
        readonly version: number
      }[]
      readonly version: number
      readonly created_at: string
      readonly createdAt: string
      readonly description: string | null
      readonly category: string | null
      readonly updated_at: string
      readonly updatedAt: string
    })[]
    readonly page: number
    readonly limit: number
    readonly total: number
    readonly totalPages: number
    readonly meta: PageMeta
  }
}

export type ListTemplateVersionsAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly versions: readonly ({
      readonly id: string
      readonly template_id: string
      readonly name: string
      readonly subject: string
      readonly body: string
      readonly text: string | null
      readonly format: "html" | "text" | "mjml"
      readonly sample_data: Readonly<Record<string, unknown>> | null
      readonly partials: readonly {
        readonly name: string
        readonly version: number
      }[]
      readonly version: number
      readonly created_at: string
      readonly createdAt: string
    })[]
    readonly page: number
    readonly limit: number
    readonly total: number
    readonly totalPages: number
    readonly meta: PageMeta
  }
}

export type ListWebhookDeliveriesAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly deliveries: readonly WebhookDelivery[]
    readonly page: number
    readonly limit: number
    readonly total: number
    readonly totalPages: number
    readonly meta: PageMeta
  }
}

export type ListWebhooksAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly webhooks: readonly Webhook[]
    readonly page: number
    readonly limit: number
    readonly total: number
    readonly totalPages: number
    readonly meta: PageMeta
  }
} | WebhookAnswer

export type Message = {
  readonly to: readonly (string | {
    readonly email: string
    readonly name?: string
  })[] | string | {
    readonly email: string
    readonly name?: string
  }
  readonly cc?: readonly (string | {
    readonly email: string
    readonly name?: string
  })[] | string | {
    readonly email: string
    readonly name?: string
  }
  readonly bcc?: readonly (string | {
    readonly email: string
    readonly name?: string
  })[] | string | {
    readonly email: string
    readonly name?: string
  }
  readonly from?: string | {
    readonly email: string
    readonly name?: string
  }
  readonly from_name?: string | null
  readonly reply_to?: string | boolean | {
    readonly email?: string
    readonly name?: string
  }
  readonly subject?: string | null
  /** HTML or plain text; the service detects which */
  readonly body?: string | null
  readonly html?: string | null
  readonly text?: string | null
  /** overrides the detection: true = HTML, false = plain text */
  readonly is_html?: boolean | null
  readonly template_id?: string | null
  readonly params?: Readonly<Record<string, unknown>> | null
  readonly attachments?: readonly ({
    readonly filename?: string | null
    readonly content: string
    readonly content_type?: string | null
    readonly content_id?: string | null
  })[] | null
  readonly headers?: Readonly<Record<string, string | number | boolean>> | readonly {
    readonly name: string
    readonly value: string
  }[] | null
  readonly tags?: readonly string[] | string | null
  readonly metadata?: Readonly<Record<string, string | number | boolean | null>> | null
  readonly track_opens?: boolean | null
  readonly track_clicks?: boolean | null
  readonly expires_at?: string | null
}

export type PageMeta = {
  readonly total: number
  readonly page: number
  readonly limit: number
  readonly has_more: boolean
}

export type PartialAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly name: string
    readonly version: number
    /** the number of templates that use it */
    readonly uses: number
    readonly created_at: string
    readonly updated_at: string
    readonly body: string
    readonly templates: readonly {
      readonly id: string
      readonly name: string
      readonly version: number
    }[]
  }
}

export type PlainAnswer = {
  readonly success: true
  readonly message: string
}

export type PreviewCampaignAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly is_red: boolean
    readonly is_estimate: boolean
    readonly recipients: number
    readonly receiver_count: number
    readonly receivers: readonly ({
      readonly receiver: string
      readonly recipients: number
      readonly warm_up_room: number | null
      readonly best_hour: number | null
    })[]
    readonly quota_room: number | null
    readonly expected_finish_at: string | null
    readonly never_mailed_share: number | null
    readonly findings: readonly ({
      readonly code: string
      readonly level: "green" | "yellow" | "red"
      readonly message: string
      readonly may_force: boolean
    })[]
  }
}

export type PreviewSegmentAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly count: number
    readonly contacts: readonly ({
      readonly id: string
      readonly email: string
      readonly firstName: string | null
      readonly first_name: string | null
      readonly lastName: string | null
      readonly last_name: string | null
      readonly companyName: string | null
      readonly company_name: string | null
      readonly jobTitle: string | null
      readonly job_title: string | null
      readonly phoneNumber: string | null
      readonly phone_number: string | null
      /** in the audience of the segment, or the latest one; null if it is in no audience */
      readonly status: "subscribed" | "unsubscribed" | null
      readonly tags: readonly string[]
      /** 0 to 1; null before the first calculation */
      readonly deliverabilityScore: number | null
      readonly createdAt: string
    })[]
  }
}

export type PreviewSegmentBody = {
  readonly audience_id?: string | null
  /** Groups: {"all": […]}, {"any": […]}, {"not": {…}}. Conditions: {"tag": "vip", "has": true}; {"attribute": "plan", "op": "eq", "value": "pro"}; {"field": "firstName", "op": "contains", "value": "an"} with email, firstName, lastName, companyName, jobTitle, phoneNumber, linkedin, timezone, score, createdAt, updatedAt; {"status": "subscribed", "audienceId": "…"} with subscribed, unsubscribed, member, blocked; {"activity": "opened", "withinDays": 30} with opened, clicked, delivered, bounced, mailed. Operators: eq, ne, gt, lt, contains, exists; before and after for times. */
  readonly filter: Readonly<Record<string, unknown>>
}

export type PreviewTemplateBody = {
  /** the id of a stored template; without it, give `subject` and `body` */
  readonly id?: string | null
  /** by default the latest */
  readonly version?: number | null
  readonly subject?: string | null
  readonly body?: string | null
  /** the text part beside HTML; generated from the HTML when omitted */
  readonly text?: string | null
  /** detected when omitted */
  readonly format?: "html" | "text" | "mjml" | null
  /** params for previews; declares their names */
  readonly sample_data?: Readonly<Record<string, unknown>> | null
  /** render for this contact; by default with sample data */
  readonly contact_id?: string | null
  /** override all other values */
  readonly params?: Readonly<Record<string, unknown>> | null
}

export type QueuedEmail = {
  /** msg_<epoch ms>_<suffix>, or scheduled_msg_…; each form of the id is accepted everywhere */
  readonly id: string
  readonly from: string
  readonly to: readonly string[]
  readonly subject: string
  readonly created_at: string
  readonly metadata: {
    readonly priority: "instant" | "high" | "normal" | "bulk"
    /** such as 0-5 seconds */
    readonly estimated_delivery: string
    readonly recipients_count: number
  }
  /** em_<suffix> */
  readonly email_id: string
  readonly success: true
  readonly message: string
  readonly object: "email"
  readonly status: "queued"
  readonly queue: "instant" | "high" | "async" | "bulk"
  /** such as 0-5 seconds */
  readonly estimated_delivery: string
  readonly data: {
    readonly id: string
    readonly job_id: string
    readonly priority: "instant" | "high" | "normal" | "bulk"
    readonly recipients: number
    readonly status: "queued"
  }
}

export type RefusedBatchItem = {
  readonly success: false
  readonly error: "VALIDATION_ERROR" | "INVALID_TEMPLATE" | "UNAUTHORIZED" | "FORBIDDEN" | "INSUFFICIENT_SCOPE" | "PLAN_REQUIRED" | "NOT_FOUND" | "METHOD_NOT_ALLOWED" | "REQUEST_TIMEOUT" | "CONFLICT" | "IDEMPOTENCY_MISMATCH" | "IDEMPOTENCY_IN_PROGRESS" | "PAYLOAD_TOO_LARGE" | "UNSUPPORTED_MEDIA_TYPE" | "RATE_LIMITED" | "HEADERS_TOO_LARGE" | "INTERNAL_ERROR" | "SERVICE_UNAVAILABLE"
  readonly message: string
  /** on a VALIDATION_ERROR */
  readonly details?: readonly {
    /** the field, such as to.1.email; empty for the request as a whole */
    readonly path: string
    readonly message: string
  }[]
  /** its index in `messages` */
  readonly index: number
}

export type ReplayWebhookDeliveryAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly id: string
    readonly event_id: string
    readonly webhook_id: string
    readonly state: "pending"
    readonly status: "pending"
  }
}

export type ResendCampaignBody = {
  readonly name?: string | null
  readonly subject?: string | null
}

export type SavePartialBody = {
  readonly name: string
  readonly body: string
}

export type SaveTemplateBody = {
  readonly id?: string | null
  readonly name: string
  readonly subject: string
  /** HTML, MJML or text */
  readonly body: string
  /** the text part beside HTML; generated from the HTML when omitted */
  readonly text?: string | null
  /** detected when omitted */
  readonly format?: "html" | "text" | "mjml" | null
  /** params for previews; declares their names */
  readonly sample_data?: Readonly<Record<string, unknown>> | null
  readonly description?: string | null
  readonly category?: string | null
}

export type ScheduleCampaignBody = {
  /** `YYYY-MM-DD_HH:MM:SS` or ISO 8601; without an offset, in `timezone` */
  readonly scheduled_at: string
  readonly timezone?: string
  /** send at this local time of each recipient; `timezone` is used for recipients without one */
  readonly recipient_time?: boolean
  /** send although the preview has red findings */
  readonly force?: boolean
}

export type ScheduledEmail = {
  /** msg_<epoch ms>_<suffix>, or scheduled_msg_…; each form of the id is accepted everywhere */
  readonly id: string
  readonly from: string
  readonly to: readonly string[]
  readonly subject: string
  readonly created_at: string
  readonly metadata: {
    readonly priority: "instant" | "high" | "normal" | "bulk"
    /** such as 0-5 seconds */
    readonly estimated_delivery: string
    readonly recipients_count: number
  }
  /** em_<suffix> */
  readonly email_id: string
  readonly success: true
  readonly message: string
  readonly object: "scheduled_email"
  readonly status: "scheduled"
  readonly scheduled_at: string
  readonly timezone: string
  readonly queue: "instant" | "high" | "async" | "bulk"
  /** such as 0-5 seconds */
  readonly estimated_delivery: string
  readonly data: {
    readonly id: string
    readonly job_id: string
    readonly priority: "instant" | "high" | "normal" | "bulk"
    readonly recipients: number
    readonly status: "scheduled"
    readonly scheduled_at: string
    readonly timezone: string
  }
}

export type ScheduledMessage = Message & ({
  /** `YYYY-MM-DD_HH:MM:SS` or ISO 8601; an offset takes precedence over `timezone` */
  readonly scheduled_at?: string
  /** IANA time zone; by default UTC */
  readonly timezone?: string
  /** the tier it enters when due; by default normal */
  readonly priority?: "instant" | "high" | "normal" | "async" | "queue" | "bulk" | "low"
}) | {
  /** `YYYY-MM-DD_HH:MM:SS` or ISO 8601; an offset takes precedence over `timezone` */
  readonly scheduled_at?: string
  /** IANA time zone; by default UTC */
  readonly timezone?: string
  /** the tier it enters when due; by default normal */
  readonly priority?: "instant" | "high" | "normal" | "async" | "queue" | "bulk" | "low"
  readonly email: Message
}

export type SearchEmailsAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly emails: readonly FoundEmail[]
    readonly page: number
    readonly limit: number
    readonly total: number
    readonly totalPages: number
    readonly next: string | null
    readonly total_is_exact: boolean
    readonly meta: {
      readonly total: number
      readonly page: number
      readonly limit: number
      readonly has_more: boolean
    }
  }
}

export type Segment = {
  readonly id: string
  readonly object: "segment"
  readonly name: string
  readonly description: string | null
  readonly audienceId: string | null
  readonly audience_id: string | null
  readonly filter: Readonly<Record<string, unknown>>
  readonly createdAt: string
  readonly created_at: string
  readonly updatedAt: string
  readonly updated_at: string
}

export type SegmentAnswer = {
  readonly success: true
  readonly message: string
  readonly data: Segment
}

export type SendBatchBody = {
  /** each like the body of a single send */
  readonly messages: readonly Message[]
  readonly tier?: "instant" | "high" | "normal" | "async" | "queue" | "bulk" | "low"
}

export type SlimContact = {
  readonly id: string
  readonly email: string
  readonly firstName: string | null
  readonly first_name: string | null
  readonly lastName: string | null
  readonly last_name: string | null
  readonly companyName: string | null
  readonly company_name: string | null
  readonly jobTitle: string | null
  readonly job_title: string | null
  readonly phoneNumber: string | null
  readonly phone_number: string | null
  readonly status: "subscribed" | "unsubscribed"
  readonly tags: readonly string[]
  /** 0 to 1; null before the first calculation */
  readonly deliverabilityScore: number | null
  readonly createdAt: string
}

export type StartCampaignBody = {
  /** send although the preview has red findings */
  readonly force?: boolean
}

export type StartOauthAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly authorize_url: string
    readonly expires_at: string
  }
}

export type Suppression = {
  readonly email: string
  readonly address: string
  /** complaint: The recipient reported mail as spam. hard_bounce: The receiver says that the mailbox does not exist. unsubscribe: The recipient wants no mail from this workspace. manual: Someone added it with an Admin key. import: It was on a list that was imported. */
  readonly kind: "complaint" | "hard_bounce" | "unsubscribe" | "manual" | "import"
  readonly cause: string
  readonly reason: string
  readonly reply: {
    readonly code: number | null
    readonly status: string | null
    readonly text: string
  } | null
  readonly rule: string | null
  readonly event_id: string | null
  readonly message_id: string | null
  readonly api_key_id: string | null
  readonly created_at: string
  readonly updated_at: string
}

export type TemplateAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly id: string
    readonly template_id: string
    readonly name: string
    readonly subject: string
    readonly body: string
    readonly text: string | null
    readonly format: "html" | "text" | "mjml"
    readonly sample_data: Readonly<Record<string, unknown>> | null
    readonly partials: readonly {
      readonly name: string
      readonly version: number
    }[]
    readonly version: number
    readonly created_at: string
    readonly createdAt: string
    readonly description: string | null
    readonly category: string | null
    readonly updated_at: string
    readonly updatedAt: string
    /** what is rendered: partials included, MJML compiled, CSS inlined */
    readonly compiled: {
      readonly subject: string
      readonly html: string | null
      readonly text: string | null
    }
  }
}

export type TemplateCheck = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly findings: readonly ({
      readonly rule: "cannot-be-saved" | "cannot-be-rendered" | "missing-unsubscribe-url" | "undeclared-variable" | "missing-text-part" | "image-without-alt" | "css-not-inlined" | "too-large"
      readonly level: "error" | "campaign" | "warning"
      /** subject, body, text, or `partial <name>` */
      readonly part: string | null
      readonly line: number | null
      readonly message: string
    })[]
    readonly may_be_sent: boolean
    readonly may_be_campaign: boolean
    readonly text: string | null
    readonly size: number
  }
}

export type TemplatePreview = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly template: {
      readonly id: string
      readonly version: number
    } | null
    readonly subject: string
    readonly html: string | null
    readonly text: string
    /** true: the text was generated from the HTML */
    readonly text_is_made: boolean
  }
}

export type TemplateVersionAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly id: string
    readonly template_id: string
    readonly name: string
    readonly subject: string
    readonly body: string
    readonly text: string | null
    readonly format: "html" | "text" | "mjml"
    readonly sample_data: Readonly<Record<string, unknown>> | null
    readonly partials: readonly {
      readonly name: string
      readonly version: number
    }[]
    readonly version: number
    readonly created_at: string
    readonly createdAt: string
    /** what is rendered: partials included, MJML compiled, CSS inlined */
    readonly compiled: {
      readonly subject: string
      readonly html: string | null
      readonly text: string | null
    }
  }
}

export type TestAccountAnswer = {
  readonly success: true
  readonly message: string
  readonly data: AccountTest
}

export type TestTemplateBody = {
  readonly to: readonly (string | {
    readonly email: string
    readonly name?: string
  })[] | string | {
    readonly email: string
    readonly name?: string
  }
  readonly from?: string | {
    readonly email: string
    readonly name?: string
  }
  /** by default the latest */
  readonly version?: number | null
  /** render for this contact; by default with sample data */
  readonly contact_id?: string | null
  /** override all other values */
  readonly params?: Readonly<Record<string, unknown>> | null
}

export type TestWebhookAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly id: string
    readonly event_id: string
    readonly webhook_id: string
    readonly state: "pending"
    readonly status: "pending"
    readonly type: string
  }
}

export type TestWebhookBody = {
  readonly type?: string | null
}

export type TrackEventAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly enrolled: number
  }
}

export type TrackEventBody = {
  readonly email: string
  readonly event_name: string | null
  readonly properties?: Readonly<Record<string, unknown>> | null
}

export type TrackingSettings = {
  /** null: track mail of campaigns and automations only */
  readonly track_opens: boolean | null
  /** null: track mail of campaigns and automations only */
  readonly track_clicks: boolean | null
  /** how much of the IP address is stored with an open or a click */
  readonly privacy: "full" | "truncated" | "none"
  /** the address that `reply_to: true` in a message stands for */
  readonly reply_to: string | null
  /** the domain whose tracking host name the links use; null: the shared host name */
  readonly tracking_domain: string | null
  /** the present base URL of tracking links */
  readonly tracking_url: string
}

export type UnenrollContactBody = {
  readonly email: string
}

export type UpdateAccountBody = {
  readonly name?: string | null
  readonly host?: string | null
  readonly port?: number | null
  /** `tls` from the first byte, `starttls`, or `none` (only in networks that ALLOW_PRIVATE_TARGETS names) */
  readonly security?: "tls" | "starttls" | "none" | null
  readonly username?: string | null
  readonly password?: string | null
  /** the addresses allowed in From; by default the user name, if it is an address */
  readonly from?: string | readonly string[] | null
  readonly connections?: number | null
  readonly messages_per_connection?: number | null
  /** null: no limit */
  readonly messages_per_minute?: number | null
}

export type UpdateAudienceBody = {
  readonly name?: string | null
  readonly description?: string | null
  /** subscribers of the form confirm by a link in a mail */
  readonly double_opt_in?: boolean | null
}

export type UpdateAutomationBody = {
  readonly name?: string | null
  /** draft, active, paused, archived */
  readonly status?: string | null
  /** contact_event: an event with this name is tracked for a contact; contact_added_to_audience: a contact joins the audience as a subscribed member, in any way; date_time: the given time comes: members of the audience, if one is given, and contacts enrolled earlier start then; manual: a contact is enrolled by the API */
  readonly trigger_type?: string | null
  readonly trigger_config?: Readonly<Record<string, unknown>> | null
  /** type and configuration together: {type, config} */
  readonly trigger?: {
    readonly type: string
    readonly config?: Readonly<Record<string, unknown>> | null
  } & Readonly<Record<string, unknown>> | string | null
  readonly steps?: readonly AutomationStep[] | null
  /** with new steps: enrolled contacts `finish` the version they started (the default), or `move` to the new one at their next step */
  readonly enrolled?: "finish" | "move" | null
}

export type UpdateCampaignBody = {
  readonly name?: string | null
  readonly template_id?: string | "" | null
  readonly subject?: string | null
  /** HTML or text, detected */
  readonly body?: string | null
  /** the text part beside HTML; without a body it is the body */
  readonly text?: string | null
  readonly from?: string | {
    readonly email: string
    readonly name?: string
  } | null
  readonly from_name?: string | null
  readonly reply_to?: string | {
    readonly email: string
    readonly name?: string
  } | null
  readonly audience_ids?: readonly string[] | string | null
  /** send only to contacts of the audiences that are in this segment */
  readonly segment_id?: string | null
  /** a test of two subjects */
  readonly test?: {
    /** the second subject */
    readonly subject_b: string
    /** share of the recipients in the test, half for each subject; the rest receives the winner */
    readonly percent?: number
    /** time after the start at which the winner is chosen: by clicks, then by opens */
    readonly minutes?: number
  } | null
  /** spread the mail evenly over this time */
  readonly spread_minutes?: number | null
  readonly track_opens?: boolean | null
  readonly track_clicks?: boolean | null
}

export type UpdateContactBody = {
  /** a new address; by default it is not changed */
  readonly email?: string
  readonly audience_id?: string | null
  readonly first_name?: string | null
  readonly last_name?: string | null
  /** split into first and last name, unless these are given */
  readonly name?: string | null
  readonly company_name?: string | null
  readonly job_title?: string | null
  readonly phone_number?: string | number | null
  /** URL of the profile, http or https */
  readonly linkedin?: string | null
  /** IANA time zone */
  readonly timezone?: string | null
  readonly tags?: string | readonly string[] | null
  /** merged into the stored attributes, key by key */
  readonly custom_attributes?: Readonly<Record<string, unknown>> | null
  /** `unsubscribed` ends the subscription to the audience in audience_id, or to all; no value subscribes a contact */
  readonly status?: string
}

export type UpdateSegmentBody = {
  readonly name?: string
  readonly description?: string | null
  readonly audience_id?: string | null
  /** Groups: {"all": […]}, {"any": […]}, {"not": {…}}. Conditions: {"tag": "vip", "has": true}; {"attribute": "plan", "op": "eq", "value": "pro"}; {"field": "firstName", "op": "contains", "value": "an"} with email, firstName, lastName, companyName, jobTitle, phoneNumber, linkedin, timezone, score, createdAt, updatedAt; {"status": "subscribed", "audienceId": "…"} with subscribed, unsubscribed, member, blocked; {"activity": "opened", "withinDays": 30} with opened, clicked, delivered, bounced, mailed. Operators: eq, ne, gt, lt, contains, exists; before and after for times. */
  readonly filter?: Readonly<Record<string, unknown>>
}

export type UpdateWebhookBody = {
  readonly url?: string | null
  /** email.queued, email.scheduled, email.sent, email.delivered, email.deferred, email.bounced, email.failed, email.opened, email.clicked, email.complained, email.unsubscribed, email.cancelled, contact.subscribed, contact.unsubscribed, domain.verified, domain.degraded, account.paused; by default, or with *, all */
  readonly events?: string | readonly string[] | null
  readonly description?: string | null
  readonly is_active?: boolean | null
}

export type VerifiedKey = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly valid: true
    readonly type: "regular" | "admin"
    readonly key_type: "regular" | "admin"
    readonly key_id: string
    readonly workspace_id: string
    readonly workspace: {
      readonly id: string
      readonly plan: string
    }
    /** the scopes of an Admin key; a Regular key has none */
    readonly scopes: readonly string[]
    /** the sending domain that a Regular key is bound to */
    readonly domain: string | null
    readonly domain_status: string | null
    /** the connected account that a Regular key is bound to */
    readonly account_id: string | null
    /** the addresses that this account allows in From */
    readonly addresses: readonly string[]
    readonly plan: string
  }
}

export type VerifyDomainAnswer = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly id: string
    readonly domain: string
    readonly status: string
    readonly verification_status: string
    readonly mail_from_status: string
    readonly message: string
    readonly verified_at: string | null
    /** the checks by purpose of the records */
    readonly checks: Readonly<Record<string, {
      readonly status: "ok" | "missing" | "wrong" | "unknown"
      readonly message: string
      readonly records: readonly ({
        readonly type: string
        readonly name: string
        readonly required: boolean
        readonly status: "ok" | "missing" | "wrong" | "unknown"
        readonly message: string
      })[]
    }>>
  }
}

export type WaitingEmail = {
  /** msg_<epoch ms>_<suffix>, or scheduled_msg_…; each form of the id is accepted everywhere */
  readonly id: string
  readonly from: string
  readonly to: readonly string[]
  readonly subject: string
  readonly created_at: string
  readonly metadata: {
    readonly priority: "instant" | "high" | "normal" | "bulk"
    /** such as 0-5 seconds */
    readonly estimated_delivery: string
    readonly recipients_count: number
  }
  /** em_<suffix> */
  readonly email_id: string
  readonly object: "scheduled_email"
  readonly status: "scheduled"
  readonly scheduled_at: string
  readonly timezone: string | null
}

export type Webhook = {
  readonly id: string
  readonly object: "webhook"
  readonly url: string
  readonly description: string | null
  /** types, or * for all */
  readonly events: readonly string[]
  readonly event_types: readonly string[]
  readonly is_active: boolean
  /** why it is disabled */
  readonly disabled_reason: string | null
  /** until when the previous secret also signs */
  readonly previous_secret_until: string | null
  readonly created_at: string
  readonly updated_at: string
}

export type WebhookAnswer = {
  readonly success: true
  readonly message: string
  readonly data: Webhook
}

export type WebhookAttempt = {
  readonly attempt: number
  readonly at: string
  readonly url: string
  readonly status: number | null
  readonly error: string | null
  readonly duration_ms: number
  readonly request: {
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
  }
  readonly response: {
    readonly status: number
    /** the first 4 KB */
    readonly body: string | null
  } | null
}

export type WebhookDelivery = {
  readonly id: string
  readonly event_id: string
  /** null if the event is no longer stored */
  readonly type: string | null
  readonly event: string | null
  readonly state: "pending" | "delivered" | "failed"
  readonly status: "pending" | "delivered" | "failed"
  readonly tries: number
  readonly created_at: string
  readonly next_try_at: string | null
  readonly attempts: readonly WebhookAttempt[]
}

export type WebhookSecret = {
  readonly success: true
  readonly message: string
  readonly data: {
    readonly id: string
    readonly object: "webhook"
    readonly url: string
    readonly description: string | null
    /** types, or * for all */
    readonly events: readonly string[]
    readonly event_types: readonly string[]
    readonly is_active: boolean
    /** why it is disabled */
    readonly disabled_reason: string | null
    /** until when the previous secret also signs */
    readonly previous_secret_until: string | null
    readonly created_at: string
    readonly updated_at: string
    /** whsec_…, shown only once */
    readonly secret: string
  }
}

/** What a webhook endpoint gets. */
export type WebhookEvent =
  | EmailQueuedEvent
  | EmailScheduledEvent
  | EmailSentEvent
  | EmailDeliveredEvent
  | EmailDeferredEvent
  | EmailBouncedEvent
  | EmailFailedEvent
  | EmailOpenedEvent
  | EmailClickedEvent
  | EmailComplainedEvent
  | EmailUnsubscribedEvent
  | EmailCancelledEvent
  | ContactSubscribedEvent
  | ContactUnsubscribedEvent
  | DomainVerifiedEvent
  | DomainDegradedEvent
  | AccountPausedEvent

export class Mailstead {
  readonly #transport: Transport

  constructor(options: MailsteadOptions) {
    this.#transport = new Transport(options)
  }

  /** Send one message, tier instant: 0-5 seconds. Needs a Regular key. */
  sendInstant(input: {
    readonly body: Message
  }, options?: CallOptions): Promise<QueuedEmail> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/send-email/instant', isIdempotent: true }, input, options)
  }

  /** Send one message, tier high: 0-30 seconds. Needs a Regular key. */
  sendHigh(input: {
    readonly body: Message
  }, options?: CallOptions): Promise<QueuedEmail> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/send-email/high', isIdempotent: true }, input, options)
  }

  /** Send one message, tier normal: 0-5 minutes. Needs a Regular key. */
  sendAsync(input: {
    readonly body: Message
  }, options?: CallOptions): Promise<QueuedEmail> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/send-email/async', isIdempotent: true }, input, options)
  }

  /** Send one message, tier bulk: when the queue is idle. Needs a Regular key. */
  sendBulk(input: {
    readonly body: Message
  }, options?: CallOptions): Promise<QueuedEmail> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/send-email/bulk', isIdempotent: true }, input, options)
  }

  /** Send up to 500 different messages, each accepted or refused by itself. Needs a Regular key. */
  sendBatch(input: {
    readonly body: SendBatchBody
  }, options?: CallOptions): Promise<BatchAnswer> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/send-email/batch', isIdempotent: true }, input, options)
  }

  /** Schedule one message, from 1 minute to 365 days ahead. Needs a Regular key. Needs the plan LAUNCH or higher. */
  scheduleEmail(input: {
    readonly body: ScheduledMessage
  }, options?: CallOptions): Promise<ScheduledEmail> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/send-email/schedule', isIdempotent: true }, input, options)
  }

  /** List the scheduled messages, soonest first. Needs a Regular key. */
  listScheduled(input: {
    readonly query?: {
      readonly page?: number
      readonly limit?: number
    }
  } = {}, options?: CallOptions): Promise<ListScheduledAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/send-email/scheduled' }, input, options)
  }

  /** Cancel a scheduled message before its time. Needs a Regular key. */
  cancelScheduled(input: {
    readonly params: {
      readonly id: string
    }
  }, options?: CallOptions): Promise<CancelScheduledAnswer> {
    return this.#transport.call({ method: 'DELETE', path: '/api/v1/send-email/schedule/{id}' }, input, options)
  }

  /** List the emails that were captured instead of delivered, newest first. Mail to the capture domain (see `capture` of the workspace) is processed like any other, but delivered to a built-in receiver. It ends in the state `captured` and is stored for seven days. The local part of the address may request another outcome. Needs any API key. */
  getCapturedEmails(input: {
    readonly query?: {
      readonly page?: number
      readonly limit?: number
    }
  } = {}, options?: CallOptions): Promise<GetCapturedEmailsAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/emails/captured' }, input, options)
  }

  /** Delete all captured emails. Needs any API key. */
  deleteCapturedEmails(options?: CallOptions): Promise<DeleteCapturedEmailAnswer> {
    return this.#transport.call({ method: 'DELETE', path: '/api/v1/public/emails/captured' }, {}, options)
  }

  /** Get a captured email: headers, text, HTML, signatures. Needs any API key. */
  getCapturedEmail(input: {
    readonly params: {
      readonly id: string
    }
  }, options?: CallOptions): Promise<GetCapturedEmailAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/emails/captured/{id}' }, input, options)
  }

  /** Delete a captured email. Needs any API key. */
  deleteCapturedEmail(input: {
    readonly params: {
      readonly id: string
    }
  }, options?: CallOptions): Promise<DeleteCapturedEmailAnswer> {
    return this.#transport.call({ method: 'DELETE', path: '/api/v1/public/emails/captured/{id}' }, input, options)
  }

  /** Download a captured email, byte for byte. Needs any API key. */
  getCapturedEmailRaw(input: {
    readonly params: {
      readonly id: string
    }
  }, options?: CallOptions): Promise<string> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/emails/captured/{id}/raw' }, input, options)
  }

  /** Search messages, newest first. `next` of the response is the cursor of the next page. A search examines a limited number of messages: the response has what it found, perhaps nothing, and `next` continues it. `total` is counted up to 10,000 and where counting is cheap; otherwise it is a lower bound, and `total_is_exact` is false. Needs any API key. */
  searchEmails(input: {
    readonly query?: {
      readonly page?: number
      readonly limit?: number
      /** in to, cc or bcc: an address, or a domain for all of its addresses */
      readonly recipient?: string
      /** an address, or a domain */
      readonly sender?: string
      /** a part of the subject; case does not matter */
      readonly subject?: string
      readonly tag?: string
      readonly status?: "scheduled" | "queued" | "sending" | "deferred" | "unknown" | "bounced" | "failed" | "sent" | "delivered" | "captured" | "suppressed" | "cancelled"
      readonly tier?: "instant" | "high" | "normal" | "bulk" | "async"
      /** accepted at or after this time */
      readonly after?: string
      readonly before?: string
      /** `next` of an earlier response; instead of page */
      readonly cursor?: string
    }
  } = {}, options?: CallOptions): Promise<SearchEmailsAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/emails' }, input, options)
  }

  /** Get a message: status, recipients, attempts and event timeline. Needs any API key. */
  getEmail(input: {
    readonly query: {
      /** msg_…, em_…, scheduled_msg_… or the uuid */
      readonly id: string
    }
  }, options?: CallOptions): Promise<Email> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/emails/get-email' }, input, options)
  }

  /** Get a message: status, recipients, attempts and event timeline. Needs any API key. */
  getEmailByPath(input: {
    readonly params: {
      /** msg_…, em_…, scheduled_msg_… or the uuid */
      readonly id: string
    }
  }, options?: CallOptions): Promise<Email> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/emails/get-email/{id}' }, input, options)
  }

  /** Explain why a message is where it is: every gate in order, which one holds it, by which rule and until when. Needs any API key. */
  explainEmail(input: {
    readonly query: {
      /** msg_…, em_…, scheduled_msg_… or the uuid */
      readonly id: string
    }
  }, options?: CallOptions): Promise<EmailExplanation> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/emails/explain' }, input, options)
  }

  /** Explain why a message is where it is: every gate in order, which one holds it, by which rule and until when. Needs any API key. */
  explainEmailByPath(input: {
    readonly params: {
      /** msg_…, em_…, scheduled_msg_… or the uuid */
      readonly id: string
    }
  }, options?: CallOptions): Promise<EmailExplanation> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/emails/explain/{id}' }, input, options)
  }

  /** List events after a cursor. The response has the events after `after` in order, and `next`, the cursor after the last of them. With `wait`, an empty response is delayed until an event occurs. With a filter, a response may be empty and have `has_more`: continue with its `next`. Needs any API key. */
  listEvents(input: {
    readonly query?: {
      /** `next` of an earlier response, or the id of an event (`evt_…`); by default from the oldest stored event */
      readonly after?: string
      readonly limit?: number
      /** event types, separated by commas */
      readonly type?: string
      readonly email_id?: string
      readonly recipient?: string
      /** events at or after this time */
      readonly from?: string
      /** events before this time */
      readonly to?: string
      /** seconds to wait for an event if there is none yet */
      readonly wait?: number
    }
  } = {}, options?: CallOptions): Promise<ListEventsAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/events' }, input, options)
  }

  /** List the partials of the workspace, by name. Needs any API key. */
  listPartials(options?: CallOptions): Promise<ListPartialsAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/templates/partials' }, {}, options)
  }

  /** Save a partial and create the next version of each template that uses it. Needs any API key. */
  savePartial(input: {
    readonly body: SavePartialBody
  }, options?: CallOptions): Promise<PartialAnswer> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/templates/partials/save' }, input, options)
  }

  /** Get a partial and the templates that use it. Needs any API key. */
  getPartial(input: {
    readonly params: {
      readonly name: string
    }
  }, options?: CallOptions): Promise<PartialAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/templates/partials/{name}' }, input, options)
  }

  /** Delete a partial that no template uses. Needs any API key. */
  deletePartial(input: {
    readonly params: {
      readonly name: string
    }
  }, options?: CallOptions): Promise<void> {
    return this.#transport.call({ method: 'DELETE', path: '/api/v1/templates/partials/{name}' }, input, options)
  }

  /** Preview a template, stored or unsaved, rendered for a contact or with sample data. Needs any API key. */
  previewTemplate(input: {
    readonly body: PreviewTemplateBody
  }, options?: CallOptions): Promise<TemplatePreview> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/templates/preview' }, input, options)
  }

  /** Check a template for problems before it is sent. Needs any API key. */
  checkTemplate(input: {
    readonly body: PreviewTemplateBody
  }, options?: CallOptions): Promise<TemplateCheck> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/templates/check' }, input, options)
  }

  /** Send a test of a template to given addresses, marked as a test. Needs a Regular key. */
  testTemplate(input: {
    readonly params: {
      readonly id: string
    }
    readonly body: TestTemplateBody
  }, options?: CallOptions): Promise<QueuedEmail> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/templates/{id}/test', isIdempotent: true }, input, options)
  }

  /** List the templates of the workspace, newest first. Needs any API key. */
  listTemplates(input: {
    readonly query?: {
      readonly page?: number
      readonly limit?: number
    }
  } = {}, options?: CallOptions): Promise<ListTemplatesAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/templates' }, input, options)
  }

  /** Get a template: its source and its compiled form. Needs any API key. */
  getTemplate(input: {
    readonly params: {
      readonly id: string
    }
  }, options?: CallOptions): Promise<TemplateAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/templates/{id}' }, input, options)
  }

  /** Delete a template that no automation or campaign uses; mail rendered from it is not changed. Needs any API key. */
  deleteTemplate(input: {
    readonly params: {
      readonly id: string
    }
  }, options?: CallOptions): Promise<void> {
    return this.#transport.call({ method: 'DELETE', path: '/api/v1/templates/{id}' }, input, options)
  }

  /** Save a template, or the next version of one. Needs any API key. */
  saveTemplate(input: {
    readonly body: SaveTemplateBody
  }, options?: CallOptions): Promise<TemplateAnswer> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/templates/save' }, input, options)
  }

  /** List the versions of a template, latest first. Needs any API key. */
  listTemplateVersions(input: {
    readonly params: {
      readonly id: string
    }
    readonly query?: {
      readonly page?: number
      readonly limit?: number
    }
  }, options?: CallOptions): Promise<ListTemplateVersionsAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/templates/{id}/versions' }, input, options)
  }

  /** Get a version of a template. Needs any API key. */
  getTemplateVersion(input: {
    readonly params: {
      readonly id: string
      readonly version: string
    }
  }, options?: CallOptions): Promise<TemplateVersionAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/templates/{id}/versions/{version}' }, input, options)
  }

  /** Verify an API key: its kind, workspace and scopes. Needs any API key. */
  verifyKey(options?: CallOptions): Promise<VerifiedKey> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/integrations/verify' }, {}, options)
  }

  /** Get the plan, quota and keys of the workspace. Needs any API key. */
  getWorkspace(options?: CallOptions): Promise<GetWorkspaceAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/workspace' }, {}, options)
  }

  /** Get the tracking settings of the workspace. Needs an Admin key with the scope `tracking:manage`. */
  getTracking(options?: CallOptions): Promise<GetTrackingAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/workspace/tracking' }, {}, options)
  }

  /** Update the tracking settings of the workspace; omitted fields are not changed. Needs an Admin key with the scope `tracking:manage`. */
  changeTracking(input: {
    readonly body?: ChangeTrackingBody
  } = {}, options?: CallOptions): Promise<GetTrackingAnswer> {
    return this.#transport.call({ method: 'PATCH', path: '/api/v1/public/workspace/tracking' }, input, options)
  }

  /** List the audiences of the workspace. Needs an Admin key with the scope `audiences:manage`. */
  getAudiences(input: {
    readonly query?: {
      readonly page?: number
      readonly limit?: number
      readonly sortBy?: "name" | "contactCount" | "contact_count" | "createdAt" | "created_at"
      readonly sortDir?: "asc" | "desc"
    }
  } = {}, options?: CallOptions): Promise<GetAudiencesAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/audiences/get-audiences' }, input, options)
  }

  /** Get an audience. Needs an Admin key with the scope `audiences:manage`. */
  getAudience(input: {
    readonly query: {
      readonly id: string
    }
  }, options?: CallOptions): Promise<AudienceAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/audiences/get-audience' }, input, options)
  }

  /** Create an audience; its signup form works immediately. Needs an Admin key with the scope `audiences:manage`. */
  addAudience(input: {
    readonly body: AddAudienceBody
  }, options?: CallOptions): Promise<AudienceAnswer> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/public/audiences/add-audience' }, input, options)
  }

  /** Update the name, description or double opt-in of an audience; omitted fields are not changed. Needs an Admin key with the scope `audiences:manage`. */
  updateAudience(input: {
    readonly query: {
      readonly id: string
    }
    readonly body?: UpdateAudienceBody
  }, options?: CallOptions): Promise<AudienceAnswer> {
    return this.#transport.call({ method: 'PATCH', path: '/api/v1/public/audiences/update-audience' }, input, options)
  }

  /** Delete an audience and, permanently, the contacts that are in no other audience. Needs an Admin key with the scope `audiences:manage`. */
  deleteAudience(input: {
    readonly query: {
      readonly id: string
    }
  }, options?: CallOptions): Promise<void> {
    return this.#transport.call({ method: 'DELETE', path: '/api/v1/public/audiences/delete-audience' }, input, options)
  }

  /** List the contacts of an audience. Needs an Admin key with the scope `contacts:read`. */
  getContacts(input: {
    readonly query?: {
      readonly page?: number
      readonly limit?: number
      readonly audienceId?: string
      readonly sortBy?: "createdAt" | "created_at" | "email" | "firstName" | "first_name" | "lastName" | "last_name" | "deliverabilityScore" | "deliverability_score"
      readonly sortDir?: "asc" | "desc"
      readonly subscribedOnly?: "true" | "false"
    }
  } = {}, options?: CallOptions): Promise<GetContactsAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/contacts/get-contacts' }, input, options)
  }

  /** Get a contact by id or email. Needs an Admin key with the scope `contacts:read`. */
  getContact(input: {
    readonly query?: {
      /** of the contact; give this or email */
      readonly id?: string
      /** of the contact, URL-encoded; give this or id */
      readonly email?: string
      /** the audience whose status is returned; by default the latest */
      readonly audienceId?: string
    }
  } = {}, options?: CallOptions): Promise<GetContactAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/contacts/get-contact' }, input, options)
  }

  /** Add a contact to an audience; an existing contact is updated with the given fields. Needs an Admin key with the scope `contacts:write`. */
  addContact(input: {
    readonly body: AddContactBody
  }, options?: CallOptions): Promise<AddContactAnswer> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/public/contacts/add-contact' }, input, options)
  }

  /** Update a contact; null clears a field, omitted fields are not changed. Needs an Admin key with the scope `contacts:write`. */
  updateContact(input: {
    readonly query?: {
      /** of the contact; give this or email */
      readonly id?: string
      /** of the contact, URL-encoded; give this or id */
      readonly email?: string
    }
    readonly body?: UpdateContactBody
  } = {}, options?: CallOptions): Promise<AddContactAnswer> {
    return this.#transport.call({ method: 'PATCH', path: '/api/v1/public/contacts/update-contact' }, input, options)
  }

  /** Delete a contact permanently, from all audiences. Needs an Admin key with the scope `contacts:write`. */
  deleteContact(input: {
    readonly query?: {
      /** of the contact; give this or email */
      readonly id?: string
      /** of the contact, URL-encoded; give this or id */
      readonly email?: string
    }
  } = {}, options?: CallOptions): Promise<void> {
    return this.#transport.call({ method: 'DELETE', path: '/api/v1/public/contacts/delete-contact' }, input, options)
  }

  /** Create an automation; without a status it is a draft. Needs an Admin key with the scope `automations:write`. */
  createAutomation(input: {
    readonly body: CreateAutomationBody
  }, options?: CallOptions): Promise<AutomationAnswer> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/public/automations/create' }, input, options)
  }

  /** List the automations of the workspace, of every status, newest first, without their steps. Needs an Admin key with the scope `automations:read`. */
  getAutomations(input: {
    readonly query?: {
      readonly page?: number
      readonly limit?: number
      readonly status?: string
    }
  } = {}, options?: CallOptions): Promise<GetAutomationsAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/automations/get-all' }, input, options)
  }

  /** Get an active automation. Needs an Admin key with the scope `automations:read`. */
  getAutomation(input: {
    readonly params: {
      readonly id: string
    }
  }, options?: CallOptions): Promise<AutomationAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/automations/get-automation/{id}' }, input, options)
  }

  /** Get an automation of any status. Needs an Admin key with the scope `automations:read`. */
  showAutomation(input: {
    readonly params: {
      readonly id: string
    }
  }, options?: CallOptions): Promise<AutomationAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/automations/{id}' }, input, options)
  }

  /** Update an automation or its status; omitted fields are not changed, new steps create a new version. Needs an Admin key with the scope `automations:write`. */
  updateAutomation(input: {
    readonly params: {
      readonly id: string
    }
    readonly body?: UpdateAutomationBody
  }, options?: CallOptions): Promise<AutomationAnswer> {
    return this.#transport.call({ method: 'PATCH', path: '/api/v1/public/automations/update-automation/{id}' }, input, options)
  }

  /** Delete a draft; to end an automation that was active, set its status to archived. Needs an Admin key with the scope `automations:write`. */
  deleteAutomation(input: {
    readonly params: {
      readonly id: string
    }
  }, options?: CallOptions): Promise<void> {
    return this.#transport.call({ method: 'DELETE', path: '/api/v1/public/automations/delete-automation/{id}' }, input, options)
  }

  /** List the webhook calls of an automation and their responses, newest first; stored for 30 days. Needs an Admin key with the scope `automations:read`. */
  getAutomationCalls(input: {
    readonly params: {
      readonly id: string
    }
    readonly query?: {
      readonly page?: number
      readonly limit?: number
    }
  }, options?: CallOptions): Promise<GetAutomationCallsAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/automations/get-automation/{id}/calls' }, input, options)
  }

  /** Walk one contact through an automation of any status, without effects. Needs an Admin key with the scope `automations:read`. */
  dryRunAutomation(input: {
    readonly params: {
      readonly id: string
    }
    readonly body: DryRunAutomationBody
  }, options?: CallOptions): Promise<DryRunAutomationAnswer> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/public/automations/{id}/dry-run' }, input, options)
  }

  /** Track an event of a contact: it is enrolled in each active automation with this event as its trigger. Needs an Admin key with the scope `automations:trigger`. */
  trackEvent(input: {
    readonly body: TrackEventBody
  }, options?: CallOptions): Promise<TrackEventAnswer> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/public/automations/events/track' }, input, options)
  }

  /** Enrol a contact in an active automation; an enrolled contact stays at its step. Needs an Admin key with the scope `automations:write`. */
  enrollContact(input: {
    readonly params: {
      readonly id: string
    }
    readonly body: EnrollContactBody
  }, options?: CallOptions): Promise<TrackEventAnswer> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/public/automations/add-automation/{id}/enroll' }, input, options)
  }

  /** Remove a contact from an automation. Needs an Admin key with the scope `automations:write`. */
  unenrollContact(input: {
    readonly params: {
      readonly id: string
    }
    readonly body: UnenrollContactBody
  }, options?: CallOptions): Promise<PlainAnswer> {
    return this.#transport.call({ method: 'DELETE', path: '/api/v1/public/automations/delete-automation/{id}/subscribers' }, input, options)
  }

  /** List the present and past contacts of an automation, newest first, with the next step and its due time. Needs an Admin key with the scope `automations:read`. */
  getAutomationSubscribers(input: {
    readonly params: {
      readonly id: string
    }
    readonly query?: {
      readonly page?: number
      readonly limit?: number
      readonly status?: "active" | "completed" | "exited"
    }
  }, options?: CallOptions): Promise<GetAutomationSubscribersAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/automations/get-automation/{id}/subscribers' }, input, options)
  }

  /** Create a campaign as a draft. Needs an Admin key with the scope `campaigns:manage`. */
  createCampaign(input: {
    readonly body: CreateCampaignBody
  }, options?: CallOptions): Promise<CampaignAnswer> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/public/campaigns' }, input, options)
  }

  /** List the campaigns of the workspace, newest first, without their bodies and metrics. Needs an Admin key with the scope `campaigns:manage`. */
  getCampaigns(input: {
    readonly query?: {
      readonly page?: number
      readonly limit?: number
      readonly status?: string
    }
  } = {}, options?: CallOptions): Promise<GetCampaignsAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/campaigns' }, input, options)
  }

  /** Get a campaign with its metrics. Needs an Admin key with the scope `campaigns:manage`. */
  getCampaign(input: {
    readonly params: {
      readonly id: string
    }
  }, options?: CallOptions): Promise<CampaignAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/campaigns/{id}' }, input, options)
  }

  /** Update a draft; omitted fields are not changed, null clears a field. Needs an Admin key with the scope `campaigns:manage`. */
  updateCampaign(input: {
    readonly params: {
      readonly id: string
    }
    readonly body?: UpdateCampaignBody
  }, options?: CallOptions): Promise<CampaignAnswer> {
    return this.#transport.call({ method: 'PATCH', path: '/api/v1/public/campaigns/{id}' }, input, options)
  }

  /** Delete a draft campaign. Needs an Admin key with the scope `campaigns:manage`. */
  deleteCampaign(input: {
    readonly params: {
      readonly id: string
    }
  }, options?: CallOptions): Promise<void> {
    return this.#transport.call({ method: 'DELETE', path: '/api/v1/public/campaigns/{id}' }, input, options)
  }

  /** Start a campaign now. Needs an Admin key with the scope `campaigns:manage`. */
  startCampaign(input: {
    readonly params: {
      readonly id: string
    }
    readonly body?: StartCampaignBody
  }, options?: CallOptions): Promise<CampaignAnswer> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/public/campaigns/{id}/start' }, input, options)
  }

  /** Schedule a campaign for a time, or for that local time of each recipient. Needs an Admin key with the scope `campaigns:manage`. */
  scheduleCampaign(input: {
    readonly params: {
      readonly id: string
    }
    readonly body: ScheduleCampaignBody
  }, options?: CallOptions): Promise<CampaignAnswer> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/public/campaigns/{id}/schedule' }, input, options)
  }

  /** Turn a scheduled campaign back into a draft. Needs an Admin key with the scope `campaigns:manage`. */
  recallCampaign(input: {
    readonly params: {
      readonly id: string
    }
  }, options?: CallOptions): Promise<CampaignAnswer> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/public/campaigns/{id}/recall' }, input, options)
  }

  /** Pause a campaign: none of its mail is sent until it is resumed. Needs an Admin key with the scope `campaigns:manage`. */
  pauseCampaign(input: {
    readonly params: {
      readonly id: string
    }
  }, options?: CallOptions): Promise<CampaignAnswer> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/public/campaigns/{id}/pause' }, input, options)
  }

  /** Resume a paused campaign. Needs an Admin key with the scope `campaigns:manage`. */
  resumeCampaign(input: {
    readonly params: {
      readonly id: string
    }
  }, options?: CallOptions): Promise<CampaignAnswer> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/public/campaigns/{id}/resume' }, input, options)
  }

  /** Cancel a campaign: mail that was not sent yet is cancelled. Needs an Admin key with the scope `campaigns:manage`. */
  cancelCampaign(input: {
    readonly params: {
      readonly id: string
    }
  }, options?: CallOptions): Promise<CampaignAnswer> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/public/campaigns/{id}/cancel' }, input, options)
  }

  /** Send a campaign again to recipients whose mail failed or soft-bounced. Needs an Admin key with the scope `campaigns:manage`. */
  retryCampaign(input: {
    readonly params: {
      readonly id: string
    }
  }, options?: CallOptions): Promise<CampaignAnswer> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/public/campaigns/{id}/retry-failed' }, input, options)
  }

  /** Create a follow-up draft for recipients who received a campaign and did not open it. Needs an Admin key with the scope `campaigns:manage`. */
  resendCampaign(input: {
    readonly params: {
      readonly id: string
    }
    readonly body?: ResendCampaignBody
  }, options?: CallOptions): Promise<CampaignAnswer> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/public/campaigns/{id}/resend' }, input, options)
  }

  /** List the recipients of a campaign: who received it, who did not, and why. Needs an Admin key with the scope `campaigns:manage`. */
  listCampaignRecipients(input: {
    readonly params: {
      readonly id: string
    }
    readonly query?: {
      readonly limit?: number
      /** `next` of the previous page */
      readonly after?: string
      /** only recipients in this state */
      readonly filter?: "waiting" | "dispatched" | "deferred" | "sent" | "delivered" | "bounced" | "failed" | "suppressed" | "skipped" | "cancelled" | "opened" | "not-opened" | "clicked" | "complained" | "unsubscribed" | "not-sent"
    }
  }, options?: CallOptions): Promise<ListCampaignRecipientsAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/campaigns/{id}/recipients' }, input, options)
  }

  /** Export the recipients of a campaign as CSV. Needs an Admin key with the scope `campaigns:manage`. */
  exportCampaignRecipients(input: {
    readonly params: {
      readonly id: string
    }
    readonly query?: {
      /** only recipients in this state */
      readonly filter?: "waiting" | "dispatched" | "deferred" | "sent" | "delivered" | "bounced" | "failed" | "suppressed" | "skipped" | "cancelled" | "opened" | "not-opened" | "clicked" | "complained" | "unsubscribed" | "not-sent"
    }
  }, options?: CallOptions): Promise<string> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/campaigns/{id}/recipients.csv' }, input, options)
  }

  /** Preview a campaign: recipients by receiver, remaining quota, expected end, findings. Lists the 20 largest receivers. `is_estimate`: with more than 100,000 members only every 16th is counted. Red findings prevent a start or a schedule unless it is forced; those with `may_force: false` always prevent it. Needs an Admin key with the scope `campaigns:manage`. */
  previewCampaign(input: {
    readonly params: {
      readonly id: string
    }
  }, options?: CallOptions): Promise<PreviewCampaignAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/campaigns/{id}/preview' }, input, options)
  }

  /** Add a sending domain; the response contains the DNS records to publish. Needs an Admin key with the scope `domains:manage`. */
  addDomain(input: {
    readonly body: AddDomainBody
  }, options?: CallOptions): Promise<DomainAnswer> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/public/domains/add-domain' }, input, options)
  }

  /** List the sending domains of the workspace, oldest first. Needs an Admin key with the scope `domains:manage`. */
  getDomains(input: {
    readonly query?: {
      readonly page?: number
      readonly limit?: number
    }
  } = {}, options?: CallOptions): Promise<GetDomainsAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/domains/get-domains' }, input, options)
  }

  /** Get a sending domain and its status. Needs an Admin key with the scope `domains:manage`. */
  domainStatus(input: {
    readonly params: {
      readonly domainID: string
    }
  }, options?: CallOptions): Promise<DomainAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/domains/domain-status/{domainID}' }, input, options)
  }

  /** Verify a sending domain: check its DNS records now. Needs an Admin key with the scope `domains:manage`. */
  verifyDomain(input: {
    readonly params: {
      readonly domainID: string
    }
  }, options?: CallOptions): Promise<VerifyDomainAnswer> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/public/domains/verify-domain/{domainID}' }, input, options)
  }

  /** Delete a sending domain: its keys stop working immediately, and its queued mail fails. Needs an Admin key with the scope `domains:manage`. */
  deleteDomain(input: {
    readonly params: {
      readonly id: string
    }
  }, options?: CallOptions): Promise<PlainAnswer> {
    return this.#transport.call({ method: 'DELETE', path: '/api/v1/public/domains/delete-domain/{id}' }, input, options)
  }

  /** Rotate the DKIM keys: the new keys sign once their records have been in DNS for 10 minutes. Needs an Admin key with the scope `domains:manage`. */
  rotateDkim(input: {
    readonly params: {
      readonly id: string
    }
  }, options?: CallOptions): Promise<DomainAnswer> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/public/domains/rotate-dkim/{id}' }, input, options)
  }

  /** Create a sending key for a verified domain or a connected account; only this response contains the key. Needs an Admin key with the scope `api-keys:create`. */
  createDomainKey(input: {
    readonly body: CreateDomainKeyBody
  }, options?: CallOptions): Promise<CreateDomainKeyAnswer> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/public/domains/api-keys/create' }, input, options)
  }

  /** Connect an account by its SMTP credentials, untested: call test-account next. Needs an Admin key with the scope `accounts:manage`. */
  createAccount(input: {
    readonly body: CreateAccountBody
  }, options?: CallOptions): Promise<AccountAnswer> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/public/accounts' }, input, options)
  }

  /** List the connected accounts of the workspace, oldest first. Needs an Admin key with the scope `accounts:manage`. */
  listAccounts(input: {
    readonly query?: {
      readonly page?: number
      readonly limit?: number
    }
  } = {}, options?: CallOptions): Promise<ListAccountsAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/accounts' }, input, options)
  }

  /** Get a connected account. Needs an Admin key with the scope `accounts:manage`. */
  getAccount(input: {
    readonly params: {
      readonly id: string
    }
  }, options?: CallOptions): Promise<AccountAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/accounts/{id}' }, input, options)
  }

  /** Update the name, addresses or limits; the credentials too, if the password is given; new credentials end a pause. Needs an Admin key with the scope `accounts:manage`. */
  updateAccount(input: {
    readonly params: {
      readonly id: string
    }
    readonly body?: UpdateAccountBody
  }, options?: CallOptions): Promise<AccountAnswer> {
    return this.#transport.call({ method: 'PATCH', path: '/api/v1/public/accounts/{id}' }, input, options)
  }

  /** Delete a connected account: its keys stop working immediately, and its queued mail fails. Needs an Admin key with the scope `accounts:manage`. */
  deleteAccount(input: {
    readonly params: {
      readonly id: string
    }
  }, options?: CallOptions): Promise<void> {
    return this.#transport.call({ method: 'DELETE', path: '/api/v1/public/accounts/{id}' }, input, options)
  }

  /** Test an account: connect, sign in and check that the server accepts its From address; nothing is sent. Needs an Admin key with the scope `accounts:manage`. */
  testAccount(input: {
    readonly params: {
      readonly id: string
    }
  }, options?: CallOptions): Promise<TestAccountAnswer> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/public/accounts/{id}/test' }, input, options)
  }

  /** Resume a paused account with its present credentials; its waiting mail is sent. Needs an Admin key with the scope `accounts:manage`. */
  resumeAccount(input: {
    readonly params: {
      readonly id: string
    }
  }, options?: CallOptions): Promise<AccountAnswer> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/public/accounts/{id}/resume' }, input, options)
  }

  /** Start connecting a mailbox over OAuth: get the URL where its owner signs in within 10 minutes. Needs an Admin key with the scope `accounts:manage`. */
  startOauth(input: {
    readonly query?: {
      /** google, microsoft, or another that the operator configured; not needed with account_id */
      readonly provider?: string
      /** the address that is expected to sign in */
      readonly email?: string
      readonly name?: string
      /** the account to connect again */
      readonly account_id?: string
    }
  } = {}, options?: CallOptions): Promise<StartOauthAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/accounts/oauth/start' }, input, options)
  }

  /** Import suppressed addresses from a file (text/csv) or a JSON list. The column of addresses is called `email` or `address`, or is the first one. Columns `reason` and `kind` are optional. Rows without a valid address are skipped and reported. An import can be repeated: nothing is added twice. Needs an Admin key with the scope `suppressions:manage`. */
  importSuppressions(input: {
    readonly body?: ImportSuppressionsBody | string | Blob
  } = {}, options?: CallOptions): Promise<ImportSuppressionsAnswer> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/public/suppressions/import' }, input, options)
  }

  /** Export the suppression list as CSV, by address. Needs an Admin key with the scope `suppressions:manage`. */
  exportSuppressions(input: {
    readonly query?: {
      /** the beginning of the address */
      readonly search?: string
      /** complaint: The recipient reported mail as spam. hard_bounce: The receiver says that the mailbox does not exist. unsubscribe: The recipient wants no mail from this workspace. manual: Someone added it with an Admin key. import: It was on a list that was imported. */
      readonly kind?: "complaint" | "hard_bounce" | "unsubscribe" | "manual" | "import"
      /** listed at or after this time */
      readonly after?: string
      readonly before?: string
    }
  } = {}, options?: CallOptions): Promise<string> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/suppressions/export' }, input, options)
  }

  /** Suppress an address, or up to 1000 addresses. Needs an Admin key with the scope `suppressions:manage`. */
  addSuppressions(input: {
    readonly body: AddSuppressionsBody
  }, options?: CallOptions): Promise<AddSuppressionsAnswer> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/public/suppressions' }, input, options)
  }

  /** List the suppressed addresses, newest first. Needs an Admin key with the scope `suppressions:manage`. */
  listSuppressions(input: {
    readonly query?: {
      readonly page?: number
      readonly limit?: number
      /** the beginning of the address */
      readonly search?: string
      /** complaint: The recipient reported mail as spam. hard_bounce: The receiver says that the mailbox does not exist. unsubscribe: The recipient wants no mail from this workspace. manual: Someone added it with an Admin key. import: It was on a list that was imported. */
      readonly kind?: "complaint" | "hard_bounce" | "unsubscribe" | "manual" | "import"
      /** listed at or after this time */
      readonly after?: string
      readonly before?: string
      readonly email?: string
    }
  } = {}, options?: CallOptions): Promise<ListSuppressionsAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/suppressions' }, input, options)
  }

  /** Remove the address in ?email= or the body from the suppression list, or up to 1000 addresses in the body. Needs an Admin key with the scope `suppressions:manage`. */
  deleteSuppressions(input: {
    readonly query?: {
      readonly email?: string
    }
    readonly body?: DeleteSuppressionsBody
  } = {}, options?: CallOptions): Promise<DeleteSuppressionAnswer> {
    return this.#transport.call({ method: 'DELETE', path: '/api/v1/public/suppressions' }, input, options)
  }

  /** Get a suppressed address with its cause. Needs an Admin key with the scope `suppressions:manage`. */
  getSuppression(input: {
    readonly params: {
      readonly email: string
    }
  }, options?: CallOptions): Promise<GetSuppressionAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/suppressions/{email}' }, input, options)
  }

  /** Remove an address from the suppression list: it receives mail again. Needs an Admin key with the scope `suppressions:manage`. */
  deleteSuppression(input: {
    readonly params: {
      readonly email: string
    }
  }, options?: CallOptions): Promise<DeleteSuppressionAnswer> {
    return this.#transport.call({ method: 'DELETE', path: '/api/v1/public/suppressions/{email}' }, input, options)
  }

  /** Import contacts into an audience from the CSV file in the request body. Send the file as `text/csv` in UTF-8, up to the size limit of the server. The response is sent when the file is stored; get the import to see its progress. Needs an Admin key with the scope `contacts:write`. */
  importContacts(input: {
    readonly query?: {
      readonly audienceId?: string
      /** JSON: {"Column": "email", "Plan": "attribute:plan", "Note": "ignore"}; other columns are recognised by their names */
      readonly mapping?: string
      readonly dryRun?: "true" | "false"
      /** what happens to unrecognised columns; by default ignore */
      readonly unknownColumns?: "ignore" | "attributes"
    }
    readonly body: string | Blob
  }, options?: CallOptions): Promise<ContactImportAnswer> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/public/contacts/import' }, input, options)
  }

  /** List the imports of the last 30 days, newest first. Needs an Admin key with the scope `contacts:write`. */
  listImports(input: {
    readonly query?: {
      readonly page?: number
      readonly limit?: number
    }
  } = {}, options?: CallOptions): Promise<ListImportsAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/contacts/imports' }, input, options)
  }

  /** Get an import: its progress and its counts. Needs an Admin key with the scope `contacts:write`. */
  getImport(input: {
    readonly params: {
      readonly id: string
    }
  }, options?: CallOptions): Promise<ContactImportAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/contacts/imports/{id}' }, input, options)
  }

  /** Cancel an import; the rows imported until then stay. Needs an Admin key with the scope `contacts:write`. */
  cancelImport(input: {
    readonly params: {
      readonly id: string
    }
  }, options?: CallOptions): Promise<CancelImportAnswer> {
    return this.#transport.call({ method: 'DELETE', path: '/api/v1/public/contacts/imports/{id}' }, input, options)
  }

  /** List the first 1000 row errors of an import, as JSON or CSV. Needs an Admin key with the scope `contacts:write`. */
  getImportErrors(input: {
    readonly params: {
      readonly id: string
    }
    readonly query?: {
      readonly format?: "json" | "csv"
    }
  }, options?: CallOptions): Promise<GetImportErrorsAnswer | string> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/contacts/imports/{id}/errors' }, input, options)
  }

  /** Export contacts as CSV: of an audience, of a segment, or all. Cells that a spreadsheet would read as a formula begin with an apostrophe; the import removes it. Needs an Admin key with the scope `contacts:read`. */
  exportContacts(input: {
    readonly query?: {
      readonly audienceId?: string
      readonly segmentId?: string
      /** only contacts that are subscribed to the audience */
      readonly subscribedOnly?: "true" | "false"
    }
  } = {}, options?: CallOptions): Promise<string> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/contacts/export' }, input, options)
  }

  /** Create a segment: a filter with a name. Needs an Admin key with the scope `contacts:write`. */
  createSegment(input: {
    readonly body: CreateSegmentBody
  }, options?: CallOptions): Promise<SegmentAnswer> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/public/segments' }, input, options)
  }

  /** List the segments of the workspace, newest first. Needs an Admin key with the scope `contacts:read`. */
  listSegments(input: {
    readonly query?: {
      readonly page?: number
      readonly limit?: number
    }
  } = {}, options?: CallOptions): Promise<ListSegmentsAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/segments' }, input, options)
  }

  /** Preview a filter: count its contacts and return 10 of them. Needs an Admin key with the scope `contacts:read`. */
  previewSegment(input: {
    readonly body: PreviewSegmentBody
  }, options?: CallOptions): Promise<PreviewSegmentAnswer> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/public/segments/preview' }, input, options)
  }

  /** Get a segment and its present number of contacts. Needs an Admin key with the scope `contacts:read`. */
  getSegment(input: {
    readonly params: {
      readonly id: string
    }
  }, options?: CallOptions): Promise<CountedSegment> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/segments/{id}' }, input, options)
  }

  /** Update the name, description, audience or filter of a segment; omitted fields are not changed. Needs an Admin key with the scope `contacts:write`. */
  updateSegment(input: {
    readonly params: {
      readonly id: string
    }
    readonly body?: UpdateSegmentBody
  }, options?: CallOptions): Promise<SegmentAnswer> {
    return this.#transport.call({ method: 'PATCH', path: '/api/v1/public/segments/{id}' }, input, options)
  }

  /** Delete a segment; its contacts stay. Needs an Admin key with the scope `contacts:write`. */
  deleteSegment(input: {
    readonly params: {
      readonly id: string
    }
  }, options?: CallOptions): Promise<void> {
    return this.#transport.call({ method: 'DELETE', path: '/api/v1/public/segments/{id}' }, input, options)
  }

  /** List the contacts of a segment. Needs an Admin key with the scope `contacts:read`. */
  listSegmentContacts(input: {
    readonly params: {
      readonly id: string
    }
    readonly query?: {
      readonly limit?: number
      /** `next` of the previous page */
      readonly after?: string
    }
  }, options?: CallOptions): Promise<ListSegmentContactsAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/segments/{id}/contacts' }, input, options)
  }

  /** Create a webhook endpoint; only this response contains its signing secret. Needs an Admin key with the scope `webhooks:manage`. */
  createWebhook(input: {
    readonly body: CreateWebhookBody
  }, options?: CallOptions): Promise<WebhookSecret> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/public/webhooks' }, input, options)
  }

  /** List the webhook endpoints of the workspace, newest first; with ?id=, get one. Needs an Admin key with the scope `webhooks:manage`. */
  listWebhooks(input: {
    readonly query?: {
      readonly page?: number
      readonly limit?: number
      readonly id?: string
    }
  } = {}, options?: CallOptions): Promise<ListWebhooksAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/webhooks' }, input, options)
  }

  /** Update a webhook endpoint: URL, event types, description, enabled or not; omitted fields are not changed. Needs an Admin key with the scope `webhooks:manage`. */
  updateWebhookByQuery(input: {
    readonly query: {
      readonly id: string
    }
    readonly body?: UpdateWebhookBody
  }, options?: CallOptions): Promise<WebhookAnswer> {
    return this.#transport.call({ method: 'PATCH', path: '/api/v1/public/webhooks' }, input, options)
  }

  /** Delete a webhook endpoint; its waiting deliveries are not sent. Needs an Admin key with the scope `webhooks:manage`. */
  deleteWebhookByQuery(input: {
    readonly query: {
      readonly id: string
    }
  }, options?: CallOptions): Promise<void> {
    return this.#transport.call({ method: 'DELETE', path: '/api/v1/public/webhooks' }, input, options)
  }

  /** Get a webhook endpoint. Needs an Admin key with the scope `webhooks:manage`. */
  getWebhook(input: {
    readonly params: {
      readonly id: string
    }
  }, options?: CallOptions): Promise<WebhookAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/webhooks/{id}' }, input, options)
  }

  /** Update a webhook endpoint: URL, event types, description, enabled or not; omitted fields are not changed. Needs an Admin key with the scope `webhooks:manage`. */
  updateWebhook(input: {
    readonly params: {
      readonly id: string
    }
    readonly body?: UpdateWebhookBody
  }, options?: CallOptions): Promise<WebhookAnswer> {
    return this.#transport.call({ method: 'PATCH', path: '/api/v1/public/webhooks/{id}' }, input, options)
  }

  /** Delete a webhook endpoint; its waiting deliveries are not sent. Needs an Admin key with the scope `webhooks:manage`. */
  deleteWebhook(input: {
    readonly params: {
      readonly id: string
    }
  }, options?: CallOptions): Promise<void> {
    return this.#transport.call({ method: 'DELETE', path: '/api/v1/public/webhooks/{id}' }, input, options)
  }

  /** Rotate the signing secret; the previous secret also signs for 24 hours. Needs an Admin key with the scope `webhooks:manage`. */
  rotateWebhookSecret(input: {
    readonly params: {
      readonly id: string
    }
  }, options?: CallOptions): Promise<WebhookSecret> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/public/webhooks/{id}/rotate-secret' }, input, options)
  }

  /** List the deliveries of a webhook endpoint, newest first, with every attempt: request, response, error, duration. Needs an Admin key with the scope `webhooks:manage`. */
  listWebhookDeliveries(input: {
    readonly params: {
      readonly id: string
    }
    readonly query?: {
      readonly page?: number
      readonly limit?: number
      readonly state?: "pending" | "delivered" | "failed"
      readonly status?: "pending" | "delivered" | "failed"
      readonly event_id?: string
    }
  }, options?: CallOptions): Promise<ListWebhookDeliveriesAnswer> {
    return this.#transport.call({ method: 'GET', path: '/api/v1/public/webhooks/{id}/deliveries' }, input, options)
  }

  /** Send an event to this endpoint again, immediately and with a new series of attempts. Needs an Admin key with the scope `webhooks:manage`. */
  replayWebhookDelivery(input: {
    readonly params: {
      readonly id: string
      readonly eventId: string
    }
  }, options?: CallOptions): Promise<ReplayWebhookDeliveryAnswer> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/public/webhooks/{id}/deliveries/{eventId}/replay' }, input, options)
  }

  /** Send a test event to this endpoint, of the given type or of its first one. Needs an Admin key with the scope `webhooks:manage`. */
  testWebhook(input: {
    readonly params: {
      readonly id: string
    }
    readonly body?: TestWebhookBody
  }, options?: CallOptions): Promise<TestWebhookAnswer> {
    return this.#transport.call({ method: 'POST', path: '/api/v1/public/webhooks/{id}/test' }, input, options)
  }
}
