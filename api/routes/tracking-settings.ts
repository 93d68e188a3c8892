/**
 * What a workspace wants tracked, how much is kept of who it was, and whose name stands in the links. A name is taken only when a request to
 * it comes back to us: no mail goes out with links that do not work. Another workspace's domain is not there.
 */
import { z } from 'zod'
import { findDomain } from '#src/domains/domains.ts'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { parseAddress } from '#src/mail/address.ts'
import { createOutgoing } from '#src/net/http-client.ts'
import { NAME_PATH, probeName, proofOf } from '#src/tracking/tracking-host-check.ts'
import { changeTrackingSettings, isTrackingName, ownBase, readTrackingSettings } from '#src/tracking/settings.ts'
import type { ApiContext } from '#api/http/context.ts'
import { route, type Answer, type AnyRoute } from '#api/http/route.ts'
import { enveloped } from '#api/http/answer-shapes.ts'

const ACCESS = { admin: 'tracking:manage' } as const
const PATHS = ['/public/workspace/tracking', '/workspace/tracking'] as const
const PRIVACIES = ['full', 'truncated', 'none'] as const

const settings = z
  .object({
    track_opens: z.boolean().nullable().meta({ description: 'null: of campaigns and automations, not of other mail' }),
    track_clicks: z.boolean().nullable().meta({ description: 'null: of campaigns and automations, not of other mail' }),
    privacy: z.enum(PRIVACIES).meta({ description: 'how much of the IP address is kept with an open or a click' }),
    reply_to: z.string().nullable().meta({ description: 'what `reply_to: true` puts into a mail' }),
    tracking_domain: z
      .string()
      .nullable()
      .meta({ description: 'the domain whose tracking name stands in links; null: the shared one' }),
    tracking_url: z.string().meta({ description: 'what links begin with now' }),
  })
  .meta({ id: 'TrackingSettings' })
const answerShape = enveloped(settings)

const replyTo = z
  .string()
  .trim()
  .transform((text, sink) => {
    const read = parseAddress(text)
    if (!read.ok) sink.addIssue({ code: 'custom', message: read.reason })
    return read.ok ? read.address.address : z.NEVER
  })
const wish = z.boolean().nullish()
const change = z
  .object({
    track_opens: wish,
    track_clicks: wish,
    trackOpens: wish.meta({ description: 'alias of track_opens' }),
    trackClicks: wish.meta({ description: 'alias of track_clicks' }),
    privacy: z.enum(PRIVACIES).optional(),
    reply_to: replyTo.nullish(),
    replyTo: replyTo.nullish().meta({ description: 'alias of reply_to' }),
    tracking_domain: z
      .string()
      .max(1000)
      .nullish()
      .meta({ description: 'name or id of a verified domain whose tracking record was found; null: the shared name' }),
    trackingDomain: z.string().max(1000).nullish().meta({ description: 'alias of tracking_domain' }),
  })
  .transform((given) => ({
    opens: first(given.track_opens, given.trackOpens),
    clicks: first(given.track_clicks, given.trackClicks),
    privacy: given.privacy,
    replyTo: first(given.reply_to, given.replyTo),
    domain: first(given.tracking_domain, given.trackingDomain),
  }))

/** Null is a wish too. */
function first<T>(one: T | undefined, other: T | undefined): T | undefined {
  return one === undefined ? other : one
}

const GONE = refuse('NOT_FOUND', 'The workspace is gone.')

const get = route({
  name: 'get-tracking',
  summary: 'What the workspace tracks of its mail',
  method: 'GET',
  paths: PATHS,
  access: ACCESS,
  status: 200,
  answer: answerShape,
  errors: ['NOT_FOUND'],
  handle: (ctx, { caller }) => present(ctx, caller.workspaceId, 'Tracking of the workspace.'),
})

const patch = route({
  name: 'change-tracking',
  summary: 'Change what the workspace tracks; what is left out stays',
  method: 'PATCH',
  paths: PATHS,
  access: ACCESS,
  body: change,
  status: 200,
  answer: answerShape,
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
    return present(ctx, caller.workspaceId, 'Saved. It counts for mail that is sent from now on.')
  },
})

async function chooseDomain(
  ctx: ApiContext,
  workspaceId: string,
  nameOrId: string,
): Promise<{ readonly trackingDomainId: string } | Refusal> {
  const domain = await findDomain(ctx.db, workspaceId, nameOrId)
  if (domain === null) return refuse('NOT_FOUND', 'There is no such domain.')
  const wrong = (message: string): Refusal => invalid([{ path: 'tracking_domain', message }])
  if (domain.status !== 'verified' && domain.status !== 'degraded') return wrong(`${domain.domain} is not verified`)
  if (domain.trackingStatus !== 'verified')
    return wrong(
      `the tracking record of ${domain.domain} was not found at the last look; publish it and verify the domain`,
    )
  const outgoing = createOutgoing(ctx.config)
  const trouble = await probeName({ outgoing, vault: ctx.vault }, ownBase(ctx.config, domain.domain)).finally(() =>
    outgoing.close(),
  )
  return trouble === null ? { trackingDomainId: domain.id } : wrong(trouble)
}

async function present(ctx: ApiContext, workspaceId: string, message: string): Promise<Answer | Refusal> {
  const found = await readTrackingSettings(ctx, workspaceId)
  if (found === null) return GONE
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

const name = route({
  name: 'tracking-name',
  summary: "Whether a host is a customer's tracking name: for a proxy that fetches certificates on demand",
  method: 'GET',
  paths: [NAME_PATH],
  atRoot: true,
  access: 'public',
  query: z.object({ domain: z.string().max(253).toLowerCase() }),
  status: 200,
  answer: enveloped(
    z.object({ domain: z.string(), proof: z.string().meta({ description: 'known to this service only' }) }),
  ),
  errors: ['NOT_FOUND'],
  handle: async (ctx, { query: { domain } }) => {
    const isOurs = await isTrackingName(ctx.db, domain)
    if (!isOurs) return refuse('NOT_FOUND', 'That is no tracking name of ours.')
    return {
      body: { success: true, message: 'It is a tracking name.', data: { domain, proof: proofOf(ctx.vault, domain) } },
    }
  },
})

export const TRACKING_SETTINGS_ROUTES: readonly AnyRoute[] = [get, patch, name]
