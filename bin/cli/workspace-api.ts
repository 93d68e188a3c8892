/**
 * Runs endpoints of the API inside a command, for one workspace and with the rights of an Admin key that has all
 * scopes: the schemas of the route validate the input, the handler does the work, and the change is in the audit log
 * under the name of the operator. No request is sent, so it works whether an api process runs or not.
 *
 * Redis away or not running: changes are stored, and the processes see them when they poll.
 */
import { Readable } from 'node:stream'
import { Redis } from 'ioredis'
import type { AnyRequest, AnyRoute, ApiResponse } from '#api/http/route.ts'
import type { ApiContext } from '#api/http/context.ts'
import { checkPlan } from '#api/http/authorise.ts'
import { parseWith } from '#api/http/request-reader.ts'
import { isRefusal } from '#api/http/response.ts'
import { createAudiencePages } from '#api/routes/audience-pages.ts'
import { loadPlans } from '#config/plans.ts'
import type { Caller } from '#src/auth/keys.ts'
import { ALL_SCOPES } from '#src/auth/scopes.ts'
import { createContactFinder } from '#src/contacts/find-contact.ts'
import { createMemberLister } from '#src/contacts/member-pages.ts'
import type { Context } from '#src/context.ts'
import { newId } from '#src/platform/id.ts'
import type { Detail, Refusal } from '#src/platform/errors.ts'
import { waitUntilReady } from '#src/stores/redis.ts'
import { createSubjects } from '#api/http/message-source.ts'
import { createRenderer, type Renderer } from '#src/templates/renderer.ts'
import type { Workspace } from '#src/workspaces/workspaces.ts'
import { UserError } from '#bin/supervisor/user-error.ts'

const REDIS_WAIT_MS = 2000

/** The input of an endpoint, as a client would send it. Absent and null values are left out. */
export interface EndpointInput {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
  /** The unread body of a route that accepts `csv`. */
  readonly file?: Readable
}

export interface WorkspaceApi {
  /** @throws UserError with what the API would answer, if it refuses. */
  call(route: AnyRoute, input: EndpointInput): Promise<ApiResponse>
  close(): Promise<void>
}

/** `textOf` explains invalid fields of the endpoint in the words of the command. */
export function openWorkspaceApi(ctx: Context, workspace: Workspace, textOf: DetailText): WorkspaceApi {
  const opened = createCommandContext(ctx)
  const caller = callerOf(workspace)
  return {
    async call(route, input) {
      const refusal = route.needsLaunch === true ? checkPlan(opened.api, caller) : null
      if (refusal !== null) throw refusalError(refusal, textOf)
      if (route.method !== 'GET') await awaitRedis(opened.api.redis)
      const result = await route.handle(opened.api, requestOf(route, caller, input, textOf))
      if (isRefusal(result)) throw refusalError(result, textOf)
      return result
    },
    close: () => opened.close(),
  }
}

export type DetailText = (details: readonly Detail[]) => string

/** Finds an endpoint by its name in the routes of a file. */
export function routeNamed(routes: readonly AnyRoute[], name: string): AnyRoute {
  const found = routes.find((route) => route.name === name)
  if (found === undefined) throw new Error(`no route is named ${name}`)
  return found
}

function callerOf({ id, plan, replyTo }: Workspace): Caller {
  return {
    keyId: null,
    kind: 'admin',
    workspaceId: id,
    scopes: ALL_SCOPES,
    domainId: null,
    domain: null,
    domainStatus: null,
    account: null,
    plan,
    replyTo,
    isSuspended: false,
  }
}

/** @throws UserError if the input is invalid. */
function requestOf(
  route: AnyRoute,
  caller: Caller,
  { params, query, body, file }: EndpointInput,
  textOf: DetailText,
): AnyRequest {
  const details: Detail[] = []
  const read = (schema: AnyRoute['body'], value: unknown): unknown => {
    if (schema === undefined) return undefined
    const parsed = parseWith(schema, value)
    if (parsed.ok) return parsed.value
    details.push(...parsed.details)
    return undefined
  }
  const inputs = {
    params: read(route.params, params ?? {}),
    query: read(route.query, withoutNulls(query ?? {})),
    body: file === undefined ? read(route.body, body) : undefined,
  }
  if (details.length > 0) throw UserError.of(textOf(details))
  return {
    ...inputs,
    id: newId(),
    caller,
    person: null,
    headers: file === undefined ? {} : { 'content-type': 'text/csv' },
    address: '',
    isHead: false,
    closeSignal: () => new AbortController().signal,
    wantsPage: false,
    bodyStream: file ?? Readable.from([]),
  }
}

function withoutNulls(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null && value !== undefined))
}

function refusalError({ message, details }: Refusal, textOf: DetailText): UserError {
  return UserError.of(details === undefined || details.length === 0 ? message : textOf(details))
}

/** Parts of the context that no endpoint of a command uses. */
const API_PROCESS_ONLY = [
  'oauthProviders',
  'node',
  'keyring',
  'operatorToken',
  'notices',
  'acceptor',
  'tracking',
  'linkPolicy',
  'mailView',
  'messageSources',
  'rate',
  'attempts',
  'metrics',
  'eventWatch',
  'changeStream',
  'sessionChecks',
  'largeBodies',
  'downloads',
  'identityProviders',
  'identities',
] as const

type ApiProcessPart = (typeof API_PROCESS_ONLY)[number]

/** Adds the missing parts as properties that throw, so that a new use is found by its first test. */
function addUnavailable<T extends Omit<ApiContext, ApiProcessPart>>(parts: T): ApiContext {
  for (const part of API_PROCESS_ONLY) {
    Object.defineProperty(parts, part, {
      get: (): never => {
        throw new Error(`${part} is available in the api process only`)
      },
    })
  }
  return parts as T & Pick<ApiContext, ApiProcessPart>
}

/** The context of the handlers. Parts that only the api process has, such as its metrics, are not available. */
function createCommandContext(ctx: Context): { readonly api: ApiContext; close(): Promise<void> } {
  let [renderer, redis]: [Renderer | null, Redis | null] = [null, null]
  const api = addUnavailable({
    config: ctx.config,
    db: ctx.db,
    clock: ctx.clock,
    log: ctx.log,
    tracer: null,
    plans: loadPlans(ctx.config.plansFile),
    contacts: createContactFinder(ctx.db),
    listMembers: createMemberLister(ctx.db),
    get encryption() {
      return ctx.encryption
    },
    get redis() {
      return (redis ??= findRedis(ctx))
    },
    get renderer() {
      return (renderer ??= createRenderer())
    },
    get subjects() {
      return createSubjects(ctx, this.renderer)
    },
    audiencePages: (workspaceId, listing) => createAudiencePages({ ...ctx, db: ctx.db })(workspaceId, listing),
  })
  return {
    api,
    close: async () => {
      redis?.disconnect()
      await renderer?.stop()
    },
  }
}

/** A connection that was never opened has no server. */
async function awaitRedis(redis: Redis): Promise<void> {
  if (redis.status !== 'wait') await waitUntilReady(redis, REDIS_WAIT_MS)
}

/** Without a running Mailstead a connection that refuses every command at once. */
function findRedis(ctx: Context): Redis {
  try {
    return ctx.redis
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    return new Redis({ lazyConnect: true, enableOfflineQueue: false, retryStrategy: () => null })
  }
}
