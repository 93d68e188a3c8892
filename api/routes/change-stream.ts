/**
 * GET /public/changes and /admin/changes: changes of a workspace, or of the service, as server-sent events, so that no
 * page has to poll. The right to read is checked again while a stream is open, with the function that authorises a
 * request that waited (`authoriseAgain`); src/change-stream does the rest.
 */
import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import type { Caller } from '#src/auth/keys.ts'
import type { StreamAccess } from '#src/change-stream/access-checks.ts'
import { SERVICE } from '#src/change-stream/change-reader.ts'
import type { StreamLimits } from '#src/change-stream/stream-limits.ts'
import {
  isChangeTopic,
  mayReadTopic,
  OPERATOR_TOPICS,
  TOPICS,
  type ChangeTopic,
  WORKSPACE_TOPICS,
} from '#src/change-stream/topics.ts'
import { rateLimited, refuse, type Refusal } from '#src/platform/errors.ts'
import { authoriseAgain, type WaitingRequest } from '#api/http/authorise.ts'
import type { ApiContext } from '#api/http/context.ts'
import { isRefusal } from '#api/http/response.ts'
import { route, type AnyRoute, type ApiResponse } from '#api/http/route.ts'

const STREAM_TYPE = 'text/event-stream; charset=utf-8'
const STREAM_HEADERS = {
  'Cache-Control': 'no-store, no-transform',
  // nginx and its relatives pass each event on at once
  'X-Accel-Buffering': 'no',
}
const RETRY_AFTER_SECONDS = 10

const listTopics = (topics: readonly ChangeTopic[]): string =>
  topics.map((topic) => `- \`${topic}\`: ${TOPICS[topic].meaning}`).join('\n')

const EXPLANATION = [
  'A stream of server-sent events (`text/event-stream`), as `EventSource` of browsers reads it. An event names a',
  'topic, and its data what changed: `{"changes": [{"id": "em_…", "change": "email.delivered"}], "has_more": false}`,',
  'each object once with its latest change and a few facts, without addresses and bodies. With `has_more`, further',
  'objects changed: fetch the list again. Changes within a tenth of a second are one event.',
  '',
  'Other events: `ready` begins a stream; `reset` means that changes were missed, so fetch everything again;',
  '`heartbeat` comes every 15 seconds and says until when the stream is complete; `closed` ends a stream whose key was',
  'revoked or lost a scope. Send the last `id` as `Last-Event-ID` to continue after a disconnection of up to ten',
  'minutes; browsers do. A change may be reported twice.',
  '',
  '`EventSource` cannot send the header `X-Workspace`: with a session, name the workspace in the query.',
  '',
  'Topics:',
].join('\n')

const query = (known: readonly ChangeTopic[]) =>
  z.object({
    topics: z
      .string()
      .max(500, 'is too long')
      .transform((text, sink) => {
        const names = text.split(',').map((name) => name.trim())
        const unknown = names.find((name) => !isChangeTopic(name) || !known.includes(name))
        if (unknown !== undefined)
          sink.addIssue({ code: 'custom', message: `knows no "${unknown}": use some of ${known.join(', ')}` })
        return unknown === undefined ? names.filter(isChangeTopic) : z.NEVER
      })
      .optional()
      .meta({ description: 'topics, separated by commas; by default all that the key may read' }),
  })

export const CHANGE_STREAM_ROUTES: readonly AnyRoute[] = [
  route({
    name: 'stream-changes',
    summary: 'Stream the changes of the workspace as server-sent events',
    description: `${EXPLANATION}\n${listTopics(WORKSPACE_TOPICS)}`,
    method: 'GET',
    paths: ['/public/changes'],
    access: 'any',
    query: query(WORKSPACE_TOPICS).extend({
      workspace: z
        .string()
        .max(64, 'is too long')
        .optional()
        .meta({ description: 'for a session: the id of the workspace, in place of the header X-Workspace' }),
    }),
    status: 200,
    produces: ['text/event-stream'],
    errors: ['VALIDATION_ERROR', 'INSUFFICIENT_SCOPE', 'RATE_LIMITED', 'SERVICE_UNAVAILABLE'],
    handle: (ctx, request) => {
      const { caller, person } = request
      const readable = WORKSPACE_TOPICS.filter((topic) => mayReadTopic(caller, topic))
      const topics = request.query.topics ?? readable
      const forbidden = topics.find((topic) => !readable.includes(topic))
      if (forbidden !== undefined)
        return Promise.resolve(
          refuse(
            'INSUFFICIENT_SCOPE',
            `This key or role may not read the topic ${forbidden}. Use a key with its scope, or another role.`,
          ),
        )
      const holder =
        caller.keyId === null ? `session ${person?.sessionId ?? ''} ${caller.workspaceId}` : `key ${caller.keyId}`
      // later checks are of the workspace that was authorised, wherever the request named it
      const headers = person === null ? request.headers : { ...request.headers, 'x-workspace': caller.workspaceId }
      return openStream(ctx, request, {
        workspaceId: caller.workspaceId,
        topics,
        access: accessOf(
          ctx,
          { headers, address: request.address },
          {
            spec: { name: 'stream-changes', access: 'any' },
            holder,
            mayRead: mayReadTopic,
          },
        ),
      })
    },
  }),
  route({
    name: 'admin-stream-changes',
    summary: 'Stream the changes of the service as server-sent events',
    description: `${EXPLANATION}\n${listTopics(OPERATOR_TOPICS)}`,
    method: 'GET',
    paths: ['/admin/changes'],
    access: 'operator',
    query: query(OPERATOR_TOPICS),
    status: 200,
    produces: ['text/event-stream'],
    errors: ['VALIDATION_ERROR', 'RATE_LIMITED', 'SERVICE_UNAVAILABLE'],
    handle: (ctx, request) =>
      openStream(ctx, request, {
        workspaceId: SERVICE,
        topics: request.query.topics ?? OPERATOR_TOPICS,
        access: accessOf(ctx, request, {
          spec: { name: 'admin-stream-changes', access: 'operator' },
          holder: `operator ${request.person?.sessionId ?? ''}`,
          mayRead: () => true,
        }),
      }),
  }),
]

interface CheckedAccess {
  readonly spec: Pick<AnyRoute, 'name' | 'access'>
  readonly holder: string
  readonly mayRead: (caller: Caller, topic: ChangeTopic) => boolean
}

/** Later checks use the headers of the request that opened the stream. */
function accessOf(
  ctx: ApiContext,
  { headers: given, address }: WaitingRequest,
  { spec, holder, mayRead }: CheckedAccess,
): StreamAccess {
  const { authorization, cookie, 'x-workspace': workspace } = given
  const session = { ...(cookie === undefined ? {} : { cookie }), 'x-workspace': workspace }
  const headers: IncomingHttpHeaders = authorization === undefined ? session : { authorization }
  // a rotated secret of the same key, or another address, may no longer be allowed
  const presented = createHash('sha256')
    .update(JSON.stringify([headers, address]))
    .digest('hex')
  return {
    holder,
    credential: `${holder} ${presented}`,
    check: async () => {
      const caller = await authoriseAgain(ctx, spec, { headers, address })
      if (caller === null) return () => true
      return isRefusal(caller) ? null : (topic) => mayRead(caller, topic)
    },
  }
}

interface OpenedStream {
  readonly workspaceId: string
  readonly topics: readonly ChangeTopic[]
  readonly access: StreamAccess
}

async function openStream(
  ctx: ApiContext,
  { headers, address, isHead }: { headers: IncomingHttpHeaders; address: string; isHead: boolean },
  { workspaceId, topics, access }: OpenedStream,
): Promise<ApiResponse | Refusal> {
  const response = { type: STREAM_TYPE, headers: STREAM_HEADERS }
  if (isHead) return { ...response, body: '' }
  const stream = await ctx.changeStream.open({
    workspaceId,
    topics: new Set(topics),
    lastId: lastEventId(headers),
    address,
    access,
  })
  return typeof stream === 'string' ? LIMITED[stream] : { ...response, stream }
}

function lastEventId({ 'last-event-id': given }: IncomingHttpHeaders): string | null {
  return typeof given === 'string' && given !== '' ? given : null
}

const refuseMany = (whose: string): Refusal =>
  rateLimited(
    'open_requests',
    `Too many streams of this ${whose} are open. Close some, or share one stream between the tabs of a browser.`,
    RETRY_AFTER_SECONDS,
  )

const LIMITED: Readonly<Record<keyof StreamLimits, Refusal>> = {
  perCredential: refuseMany('key'),
  perAddress: refuseMany('client address'),
  perWorkspace: refuseMany('workspace'),
  perProcess: refuse(
    'SERVICE_UNAVAILABLE',
    'This server has no room for another stream. Try again, or ask the operator for another api process.',
    RETRY_AFTER_SECONDS,
  ),
}
