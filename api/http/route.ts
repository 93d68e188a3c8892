/**
 * The definition of an endpoint: one object that holds everything about it. Routing, authorisation, validation, the
 * OpenAPI document and the tests all read this object. A new endpoint is one object in `routes/` and one line in
 * `table.ts`.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import type { ZodType, output } from 'zod'
import type { Caller } from '#src/auth/keys.ts'
import type { KeyScope } from '#src/auth/scopes.ts'
import type { SignedInUser } from '#src/people/user-sessions.ts'
import type { ErrorCode, Refusal } from '#src/platform/errors.ts'
import type { ApiContext } from './context.ts'
import type { DetachedBody } from './detached-response.ts'

/**
 * Who may call: everyone, any API key, a Regular key (sending), an Admin key with the scope, or the operator with the
 * operator token, which belongs to no workspace.
 * A key of the wrong kind gets 403 FORBIDDEN; an Admin key without the scope gets 403 INSUFFICIENT_SCOPE.
 * `person`: everybody who is signed in. `member`: those who are signed in and members of the workspace that they name.
 * Neither accepts a key. Who is signed in may also use the routes of keys, by role (`route-permissions.ts`), and an
 * operator who is signed in those of the operator.
 */
export type Access = 'public' | 'operator' | 'person' | 'member' | 'any' | 'regular' | { readonly admin: KeyScope }

/**
 * The media types that a route accepts.
 * `json`: application/json. `form`: application/x-www-form-urlencoded; the body schema gets the fields as strings.
 * `multipart`: multipart/form-data, in the same way. `message`: message/rfc822; the body schema gets its octets as
 * `{raw: Buffer}`. A route that accepts it takes complete messages, also in JSON, so its limit is larger. `csv`:
 * text/csv of any length; the handler reads it from `request.bodyStream`, and the route has no body schema. `tlsrpt`: a
 * TLS report (RFC 8460 §6.4), read in the same way.
 */
export type BodyKind = 'json' | 'form' | 'multipart' | 'message' | 'csv' | 'tlsrpt'

export interface ApiResponse {
  /** By default the status of the route. */
  readonly status?: number
  /**
   * An object is serialised as JSON. A string or a buffer is sent unchanged, with the content type of JSON unless
   * `type` is given. A stream is piped: it is destroyed when the client disconnects, and if the stream fails, the
   * response breaks off. Without a body the response is empty.
   */
  readonly body?: object | string | Buffer | Readable
  /** In place of a body: what writes to the connection for as long as the client stays (`detached-response.ts`). */
  readonly stream?: DetachedBody
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A response that is neither the success nor an error, such as 304. */
export interface AdditionalResponse {
  readonly when: string
  readonly schema?: ZodType
}

export interface ApiRequest<A extends Access, P, Q, B> {
  /** The X-Request-Id. */
  readonly id: string
  readonly caller: A extends 'public' | 'operator' | 'person' ? null : Caller
  /** Who is signed in; null for a program. */
  readonly person: A extends 'person' | 'member' ? SignedInUser : SignedInUser | null
  readonly params: Parsed<P>
  readonly query: Parsed<Q>
  readonly body: Parsed<B>
  readonly headers: IncomingHttpHeaders
  /** The client's IP address, from the trusted proxies (`client-address.ts`). */
  readonly address: string
  /** A HEAD request: only the headers are sent. */
  readonly isHead: boolean
  /** Returns a signal that aborts when the client disconnects or has its response. */
  readonly closeSignal: () => AbortSignal
  /** The client is a browser and wants an HTML page. Only for routes with a `refusalPage`. */
  readonly wantsPage: boolean
  /** The unread body of a route that accepts `csv` or `tlsrpt`. On all other routes it is consumed already. */
  readonly bodyStream: Readable
}

/** The unvalidated input of a rejected request, to show a form again with its values. */
export interface RejectedInput {
  readonly params: Readonly<Record<string, string>>
  readonly body: unknown
  readonly headers: IncomingHttpHeaders
}

type Parsed<S> = S extends ZodType ? output<S> : undefined

export interface Route<
  A extends Access,
  P extends ZodType | undefined,
  Q extends ZodType | undefined,
  B extends ZodType | undefined,
> {
  /** Unique. The name of the operation in OpenAPI and in metrics. */
  readonly name: string
  readonly summary: string
  /** Markdown for the API reference, if the summary is not enough. */
  readonly description?: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** The documented path, then its aliases. `:name` is a parameter. Below /api/v1 unless `atRoot`. */
  readonly paths: readonly [string, ...string[]]
  readonly atRoot?: true
  readonly access: A
  /** A plan below LAUNCH gets 403 PLAN_REQUIRED. */
  readonly needsLaunch?: true
  /** It accepts messages: its responses have the headers of the quota. */
  readonly countsQuota?: true
  readonly params?: P
  readonly query?: Q
  /** Converts all aliases to one canonical form, which the handler gets. Without a schema the body is not read. */
  readonly body?: B
  /** `json` by default. Any other media type gets 415. */
  readonly accepts?: readonly BodyKind[]
  /** The status of a success. */
  readonly status: 200 | 201 | 204 | 302
  /** The JSON of a success, for OpenAPI and generated clients (see `response-schemas.ts`). Absent if there is none. */
  readonly response?: ZodType
  /** Other media types of a success, such as `text/html`. The handler sets the `type` of its response. */
  readonly produces?: readonly string[]
  /** By status code, such as 304, or 503 of a readiness probe. */
  readonly additionalResponses?: Readonly<Record<number, AdditionalResponse>>
  /**
   * The error as an HTML page, on routes that people open in a browser. For INTERNAL_ERROR and SERVICE_UNAVAILABLE the
   * page must not query a store.
   */
  refusalPage?(ctx: ApiContext, refusal: Refusal, given: RejectedInput): Promise<ApiResponse>
  /** Scripts of other sites may call it (CORS). Only for routes that need no key. */
  readonly allowsCrossOrigin?: true
  /** Errors that the handler itself returns, beyond those of authorisation and validation. */
  readonly errors: readonly ErrorCode[]
  handle(ctx: ApiContext, request: ApiRequest<A, P, Q, B>): Promise<ApiResponse | Refusal>
}

/** A route in the table, whatever its types. */
export type AnyRoute = Route<Access, ZodType | undefined, ZodType | undefined, ZodType | undefined>
/** A request before it is narrowed to the types of its handler. */
export type AnyRequest = ApiRequest<Access, ZodType | undefined, ZodType | undefined, ZodType | undefined>

/** Returns its argument. The signature derives the handler's types from the schemas. */
export function route<
  A extends Access,
  P extends ZodType | undefined = undefined,
  Q extends ZodType | undefined = undefined,
  B extends ZodType | undefined = undefined,
>(spec: Route<A, P, Q, B>): AnyRoute {
  return spec
}

/** Only for people who are signed in. */
export function isPersonal({ access }: AnyRoute): boolean {
  return access === 'person' || access === 'member'
}

/** Of a workspace: for its keys, its members, or both. */
export function isOfWorkspace({ access }: AnyRoute): boolean {
  return access !== 'public' && access !== 'operator' && access !== 'person'
}

/** The full paths of a route. */
export function pathsOf(spec: AnyRoute): string[] {
  return spec.paths.map((path) => (spec.atRoot === true ? path : `/api/v1${path}`))
}

/** The documented full path of a route, with the names of its parameters. */
export function firstPathOf({ paths, atRoot }: AnyRoute): string {
  return atRoot === true ? paths[0] : `/api/v1${paths[0]}`
}
