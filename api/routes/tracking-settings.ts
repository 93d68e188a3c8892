/**
 * The tracking settings of a workspace: what is tracked, how much of the IP address is stored, and which host name
 * the links use. A host name is accepted only if a request to it reaches this service, so that no mail has links
 * that do not work. A domain of another workspace is not found.
 */
import { z } from 'zod'
import { findDomain } from '#src/domains/domains.ts'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { parseAddress } from '#src/mail/address.ts'
import { createHttpClient } from '#src/net/http-client.ts'
import { TRACKING_HOST_PATH, checkTrackingHost, trackingHostProof } from '#src/tracking/tracking-host-check.ts'
import { changeTrackingSettings, isTrackingName, ownBase, readTrackingSettings } from '#src/tracking/settings.ts'
import type { ApiContext } from '#api/http/context.ts'
import { route, type ApiResponse, type AnyRoute } from '#api/http/route.ts'
import { envelope } from '#api/http/response-schemas.ts'

const ACCESS = { admin: 'tracking:manage' } as const
const PATHS = ['/public/workspace/tracking', '/workspace/tracking'] as const
const PRIVACIES = ['full', 'truncated', 'none'] as const

const settingsSchema = z
  .object({
    track_opens: z.boolean().nullable().meta({ description: 'null: track mail of campaigns and automations only' }),
    track_clicks: z.boolean().nullable().meta({ description: 'null: track mail of campaigns and automations only' }),
    privacy: z.enum(PRIVACIES).meta({ description: 'how much of the IP address is stored with an open or a click' }),
    reply_to: z.string().nullable().meta({ description: 'the address that `reply_to: true` in a message stands for' }),
    tracking_domain: z
      .string()
      .nullable()
      .meta({ description: 'the domain whose tracking host name the links use; null: the shared host name' }),
    tracking_url: z.string().meta({ description: 'the present base URL of tracking links' }),
  })
  .meta({ id: 'TrackingSettings' })
const settingsResponse = envelope(settingsSchema)

const replyToField = z
  .string()
  .trim()
  .transform((text, sink) => {
    const parsed = parseAddress(text)
    if (!parsed.ok) sink.addIssue({ code: 'custom', message: parsed.reason })
    return parsed.ok ? parsed.address.address : z.NEVER
  })
const optionalFlag = z.boolean().nullish()
const changeBody = z
  .object({
    track_opens: optionalFlag,
    track_clicks: optionalFlag,
    trackOpens: optionalFlag.meta({ description: 'alias of track_opens' }),
    trackClicks: optionalFlag.meta({ description: 'alias of track_clicks' }),
    privacy: z.enum(PRIVACIES).optional(),
    reply_to: replyToField.nullish(),
    replyTo: replyToField.nullish().meta({ description: 'alias of reply_to' }),
    tracking_domain: z.string().max(1000).nullish().meta({
      description: 'name or id of a verified domain whose tracking record was found; null: the shared host name',
    }),
    trackingDomain: z.string().max(1000).nullish().meta({ description: 'alias of tracking_domain' }),
  })
  .transform((given) => ({
    opens: firstGiven(given.track_opens, given.trackOpens),
    clicks: firstGiven(given.track_clicks, given.trackClicks),
    privacy: given.privacy,
    replyTo: firstGiven(given.reply_to, given.replyTo),
    domain: firstGiven(given.tracking_domain, given.trackingDomain),
  }))

/** The first value that is not undefined; null counts as a value. */
function firstGiven<T>(one: T | undefined, other: T | undefined): T | undefined {
  return one === undefined ? other : one
}

const NO_WORKSPACE = refuse('NOT_FOUND', 'The workspace no longer exists. Ask the operator of this service.')

const getSettings = route({
  name: 'get-tracking',
  summary: 'Get the tracking settings of the workspace',
  method: 'GET',
  paths: PATHS,
  access: ACCESS,
  status: 200,
  response: settingsResponse,
  errors: ['NOT_FOUND'],
  handle: (ctx, { caller }) => respondWithSettings(ctx, caller.workspaceId, 'Tracking settings found.'),
})

const changeSettings = route({
  name: 'change-tracking',
  summary: 'Update the tracking settings of the workspace; omitted fields are not changed',
  method: 'PATCH',
  paths: PATHS,
  access: ACCESS,
  body: changeBody,
  status: 200,
  response: settingsResponse,
  errors: ['VALIDATION_ERROR', 'NOT_FOUND'],
  handle: async (ctx, { caller, body }) => {
    const { domain, ...rest } = body
    const chosen =
      domain === undefined
        ? {}
        : domain === null
          ? { trackingDomainId: null }
          : await chooseDomain(ctx, caller.workspaceId, domain)
    if ('error' in chosen) return chosen
    await changeTrackingSettings(ctx.db, caller.workspaceId, { ...rest, ...chosen })
    return respondWithSettings(
      ctx,
      caller.workspaceId,
      'Tracking settings updated. They apply to mail that is sent from now on.',
    )
  },
})

async function chooseDomain(
  ctx: ApiContext,
  workspaceId: string,
  nameOrId: string,
): Promise<{ readonly trackingDomainId: string } | Refusal> {
  const domain = await findDomain(ctx.db, workspaceId, nameOrId)
  if (domain === null) return refuse('NOT_FOUND', 'There is no such domain. List them with get-domains.')
  const reject = (message: string): Refusal => invalid([{ path: 'tracking_domain', message }])
  if (domain.status !== 'verified' && domain.status !== 'degraded') return reject(`${domain.domain} is not verified`)
  if (domain.trackingStatus !== 'verified')
    return reject(
      `the tracking record of ${domain.domain} was not found in the last check; publish it and verify the domain`,
    )
  const http = createHttpClient(ctx.config)
  const problem = await checkTrackingHost(
    { outgoing: http, encryption: ctx.encryption },
    ownBase(ctx.config, domain.domain),
  ).finally(() => http.close())
  return problem === null ? { trackingDomainId: domain.id } : reject(problem)
}

async function respondWithSettings(
  ctx: ApiContext,
  workspaceId: string,
  message: string,
): Promise<ApiResponse | Refusal> {
  const found = await readTrackingSettings(ctx, workspaceId)
  if (found === null) return NO_WORKSPACE
  const { opens, clicks, privacy, base, trackingDomain } = found
  const data = {
    track_opens: opens,
    track_clicks: clicks,
    privacy,
    reply_to: found.replyTo,
    tracking_domain: trackingDomain,
    tracking_url: base,
  }
  return { body: { success: true, message, data } }
}

const trackingName = route({
  name: 'tracking-name',
  summary: "Check whether a host is a customer's tracking host name, for a proxy that issues certificates on demand",
  method: 'GET',
  paths: [TRACKING_HOST_PATH],
  atRoot: true,
  access: 'public',
  query: z.object({ domain: z.string().max(253).toLowerCase() }),
  status: 200,
  response: envelope(
    z.object({
      domain: z.string(),
      proof: z.string().meta({ description: 'a value that only this service can compute' }),
    }),
  ),
  errors: ['NOT_FOUND'],
  handle: async (ctx, { query: { domain } }) => {
    const isOurs = await isTrackingName(ctx.db, domain)
    if (!isOurs) return refuse('NOT_FOUND', 'The host is not a tracking host name of this service. Check its spelling.')
    return {
      body: {
        success: true,
        message: 'The host is a tracking host name.',
        data: { domain, proof: trackingHostProof(ctx.encryption, domain) },
      },
    }
  },
})

export const TRACKING_SETTINGS_ROUTES: readonly AnyRoute[] = [getSettings, changeSettings, trackingName]
