/**
 * What an endpoint is: one object that says everything about it. Mounting, authorisation, validation, the OpenAPI description and the tests
 * all read it; nothing about an endpoint is written anywhere else. A new endpoint is one object in `routes/` and one line in `table.ts`.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import type { ZodType, output } from 'zod'
import type { Caller } from '#src/auth/keys.ts'
import type { Scope } from '#src/auth/scopes.ts'
import type { ErrorCode, Refusal } from '#src/platform/errors.ts'
import type { ApiContext } from './context.ts'

/**
 * Who may call: everybody, any key, a Regular key (sending), an Admin key that has the scope, or the operator of the service with his
 * token, who belongs to no workspace.
 * A caller of the wrong kind gets 403 FORBIDDEN, an Admin key without the scope 403 INSUFFICIENT_SCOPE.
 */
export type Access = 'public' | 'operator' | 'any' | 'regular' | { readonly admin: Scope }

/**
 * How a body comes: `json`; `form`: application/x-www-form-urlencoded, whose fields the body schema gets as texts, and `multipart`:
 * multipart/form-data, in the same way; `csv`: text/csv of any
 * length, which nobody has read when the handler takes it from `request.source` (such a route has no body schema);
 * `tlsrpt`: a report on TLS (RFC 8460 6.4), in the same way.
 */
export type BodyKind = 'json' | 'form' | 'multipart' | 'csv' | 'tlsrpt'

export interface Answer {
  /** The route's own status when not given. */
  readonly status?: number
  /**
   * An object is sent as JSON; a text or bytes as they are, as JSON unless `type` says otherwise; a stream as it comes: it is destroyed when the client
   * goes away, and where it fails the answer breaks off. Left out: an empty answer.
   */
  readonly body?: object | string | Buffer | Readable
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** An answer that is neither the success nor a refusal. */
export interface Further {
  readonly when: string
  readonly answer?: ZodType
}

export interface ApiRequest<A extends Access, P, Q, B> {
  /** The X-Request-Id. */
  readonly id: string
  readonly caller: A extends 'public' | 'operator' ? null : Caller
  readonly params: Read<P>
  readonly query: Read<Q>
  readonly body: Read<B>
  readonly headers: IncomingHttpHeaders
  /** The client's IP address, as far as it can be believed (`client-address.ts`). */
  readonly address: string
  /** Only the headers of the answer are asked for. */
  readonly isHead: boolean
  /** Aborts when the client has gone away, or has its answer; made when it is first asked for. */
  readonly gone: AbortSignal
  /** Somebody at a browser asks, and wants a page; only where the route has a `refusalPage`. */
  readonly wantsPage: boolean
  /** The bytes of the body, for a route that accepts `csv` or `tlsrpt`; for all others they are read already. */
  readonly source: Readable
}

/** What a request that is refused had given, unchecked: to show a form again as it was filled in. */
export interface Given {
  readonly params: Readonly<Record<string, string>>
  readonly body: unknown
}

type Read<S> = S extends ZodType ? output<S> : undefined

export interface Route<
  A extends Access,
  P extends ZodType | undefined,
  Q extends ZodType | undefined,
  B extends ZodType | undefined,
> {
  /** Unique; names the operation in OpenAPI and in metrics. */
  readonly name: string
  readonly summary: string
  /** For the reference page, in Markdown, where the summary is not enough. */
  readonly description?: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** The documented path first, then its aliases. `:name` is a parameter. Below /api/v1 unless `atRoot`. */
  readonly paths: readonly [string, ...string[]]
  readonly atRoot?: true
  readonly access: A
  /** 403 PLAN_REQUIRED below LAUNCH. */
  readonly needsLaunch?: true
  readonly params?: P
  readonly query?: Q
  /** Folds every alias into one canonical form: the handler sees nothing else. A body without this is not read. */
  readonly body?: B
  /** Only `json` when not given. What comes as anything else gets 415. */
  readonly accepts?: readonly BodyKind[]
  /** When it succeeds. */
  readonly status: 200 | 201 | 204 | 302
  /** The JSON of a success (made with `answer-shapes.ts`), for OpenAPI and the clients made from it; not there where a success has none. */
  readonly answer?: ZodType
  /** Media types that a success may have beside or instead of JSON, such as `text/html`; the handler gives the `type` of its answer. */
  readonly produces?: readonly string[]
  /** By status: not modified, a probe that is red. */
  readonly further?: Readonly<Record<number, Further>>
  /**
   * For a route that people reach with a browser: the refusal as a page. It is kept simple for INTERNAL_ERROR and SERVICE_UNAVAILABLE:
   * no store is asked for them.
   */
  refusalPage?(ctx: ApiContext, refusal: Refusal, given: Given): Promise<Answer>
  /** Programs in pages of other sites may call it (CORS); only for what needs no key. */
  readonly isOpenToSites?: true
  /** What the handler itself may answer beyond what access and schemas bring. */
  readonly errors: readonly ErrorCode[]
  handle(ctx: ApiContext, request: ApiRequest<A, P, Q, B>): Promise<Answer | Refusal>
}

/** Any endpoint, as the table holds it. */
export type AnyRoute = Route<Access, ZodType | undefined, ZodType | undefined, ZodType | undefined>
/** Any request, as it is before a handler's types are known. */
export type AnyRequest = ApiRequest<Access, ZodType | undefined, ZodType | undefined, ZodType | undefined>

/** Identity at run time; ties the handler's types to the schemas. */
export function route<
  A extends Access,
  P extends ZodType | undefined = undefined,
  Q extends ZodType | undefined = undefined,
  B extends ZodType | undefined = undefined,
>(spec: Route<A, P, Q, B>): AnyRoute {
  return spec
}

/** The whole path of each of a route's paths. */
export function pathsOf(spec: AnyRoute): string[] {
  return spec.paths.map((path) => (spec.atRoot === true ? path : `/api/v1${path}`))
}
