/**
 * Sending domains of a workspace: added, listed, looked at, verified, removed, given new DKIM keys; and sending keys for a verified one.
 * Another workspace's domain is not there. Verifying by hand asks DNS at once, but only once in a few seconds, whoever polls: in between
 * the last look is the answer. What an endpoint answers of a domain is in `domain-view.ts`.
 */
import { z } from 'zod'
import { DEFAULT_REGION, REGION_NAMES, type Region } from '#config/regions.ts'
import { createKey } from '#src/auth/keys.ts'
import { createDomainDns } from '#src/domains/dns.ts'
import { addDomain, countDomains, findDomain, listDomains, type Domain } from '#src/domains/domains.ts'
import { mayCheck } from '#src/domains/due.ts'
import { removeDomain } from '#src/domains/removal.ts'
import { rotateKeys } from '#src/domains/rotation.ts'
import { verifyDomain } from '#src/domains/verify.ts'
import { invalid, refuse, type Refusal } from '#src/errors.ts'
import { announce } from '#src/events/news.ts'
import { hexOf, isUuid } from '#src/id.ts'
import { planOf, type ApiContext } from '#api/context.ts'
import { paging } from '#api/paging.ts'
import { route, type Answer, type AnyRoute } from '#api/route.ts'
import { enveloped, moment, plainAnswer } from '#api/shapes.ts'
import { checksShape, domainShape, explainStatus, presentChecks, presentDomain } from './domain-view.ts'

const ACCESS = { admin: 'domains:manage' } as const
const byDomainId = z.object({ domainID: z.string() })
const byId = z.object({ id: z.string() })
const oneDomain = enveloped(domainShape).meta({ id: 'DomainAnswer' })
const MAX_LISTED = 1000

const listLimit = paging.shape.limit
  .unwrap()
  .default(MAX_LISTED)
  .meta({ type: 'integer', minimum: 1, maximum: MAX_LISTED, default: MAX_LISTED })
const listed = z.object({
  success: z.literal(true),
  message: z.string(),
  data: z.array(domainShape),
  page: z.int(),
  limit: z.int(),
  total: z.int(),
})

const addBody = z
  .object({
    domain: z
      .string()
      .max(1000, 'is too long')
      .meta({ description: 'such as example.com; any spelling, also international' }),
    region: z
      .enum(REGION_NAMES as [Region, ...Region[]])
      .nullish()
      .meta({ description: `fixed for life; ${DEFAULT_REGION} when not given` }),
  })
  .meta({ examples: [{ domain: 'example.com' }] })

const add = route({
  name: 'add-domain',
  summary: 'Register a sending domain; the answer has the DNS records to publish',
  method: 'POST',
  paths: ['/public/domains/add-domain'],
  access: ACCESS,
  body: addBody,
  status: 201,
  answer: oneDomain,
  errors: ['VALIDATION_ERROR', 'PLAN_REQUIRED', 'NOT_FOUND', 'CONFLICT'],
  handle: async (ctx, { caller, body }) => {
    const { maxDomains } = planOf(ctx, caller.plan)
    const { domain: name, region } = body
    const added = await addDomain(ctx, {
      workspaceId: caller.workspaceId,
      name,
      region: region ?? DEFAULT_REGION,
      max: maxDomains,
    })
    if (added.kind === 'invalid') return invalid([{ path: 'domain', message: added.reason }])
    if (added.kind === 'no-workspace') return NO_DOMAIN
    if (added.kind === 'too-many')
      return refuse('PLAN_REQUIRED', `The plan ${caller.plan} has at most ${added.max} sending domains.`)
    const { domain } = added
    if (added.kind === 'exists')
      return refuse('CONFLICT', `This workspace has ${domain.domain} already (${domain.id}, ${domain.status}).`)
    const message = `${domain.domain} is added. Publish its DNS records, then verify it.`
    return { body: { success: true, message, data: presentDomain(domain, ctx.config) } }
  },
})

const list = route({
  name: 'get-domains',
  summary: 'The sending domains of the workspace, the oldest first',
  method: 'GET',
  paths: ['/public/domains/get-domains'],
  access: ACCESS,
  status: 200,
  errors: [],
  query: paging.extend({ limit: listLimit }),
  answer: listed,
  handle: async (ctx, { caller, query: { page, limit } }) => {
    const [domains, total] = await Promise.all([
      listDomains(ctx.db, caller.workspaceId, limit, (page - 1) * limit),
      countDomains(ctx.db, caller.workspaceId),
    ])
    const data = domains.map((domain) => presentDomain(domain, ctx.config))
    return { body: { success: true, message: `${total} sending domains.`, data, page, limit, total } }
  },
})

const status = route({
  name: 'domain-status',
  summary: 'A sending domain as it is now',
  method: 'GET',
  paths: ['/public/domains/domain-status/:domainID'],
  access: ACCESS,
  params: byDomainId,
  status: 200,
  answer: oneDomain,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const domain = await ownDomain(ctx, caller.workspaceId, params.domainID)
    if (domain === null) return NO_DOMAIN
    return { body: { success: true, message: explainStatus(domain), data: presentDomain(domain, ctx.config) } }
  },
})

const verify = route({
  name: 'verify-domain',
  summary: 'Look at the DNS records of a sending domain now',
  method: 'POST',
  paths: ['/public/domains/verify-domain/:domainID'],
  access: ACCESS,
  params: byDomainId,
  status: 200,
  answer: enveloped(
    z.object({
      id: z.uuid(),
      domain: z.string(),
      status: z.string(),
      verification_status: z.string(),
      mail_from_status: z.string(),
      message: z.string(),
      verified_at: moment.nullable(),
      checks: checksShape,
    }),
  ),
  errors: ['NOT_FOUND', 'CONFLICT'],
  handle: async (ctx, { caller, params }) => {
    const domain = await ownDomain(ctx, caller.workspaceId, params.domainID)
    if (domain === null) return NO_DOMAIN
    if (!(await mayCheck(ctx, domain.id))) return presentVerification(domain)
    const { kind, domain: now, news } = await verifyDomain(ctx, createDomainDns(ctx.config), domain)
    announce(ctx, news)
    if (kind === 'not-found') return NO_DOMAIN
    if (kind !== 'taken') return presentVerification(now)
    return refuse(
      'CONFLICT',
      `The DNS records of ${now.domain} are right, but another workspace holds it verified. ` +
        'It comes free when that workspace deletes it, or a day after its own records are gone from DNS.',
    )
  },
})

const remove = route({
  name: 'delete-domain',
  summary: 'Delete a sending domain: its keys stop working at once, and its queued mail fails',
  method: 'DELETE',
  paths: ['/public/domains/delete-domain/:id'],
  access: ACCESS,
  params: byId,
  status: 200,
  answer: plainAnswer,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params }) =>
    isUuid(params.id) && (await removeDomain(ctx, caller.workspaceId, params.id))
      ? {
          body: {
            success: true,
            message: 'The domain is deleted. Its keys do not work any more, and its queued mail fails.',
          },
        }
      : NO_DOMAIN,
})

const rotate = route({
  name: 'rotate-dkim',
  summary: 'Make new DKIM keys; they sign once their records have been in DNS for 10 minutes',
  method: 'POST',
  paths: ['/public/domains/rotate-dkim/:id'],
  access: ACCESS,
  params: byId,
  status: 200,
  answer: oneDomain,
  errors: ['NOT_FOUND', 'CONFLICT'],
  handle: async (ctx, { caller, params }) => {
    const rotation = isUuid(params.id)
      ? await rotateKeys(ctx, caller.workspaceId, params.id)
      : { kind: 'not-found' as const }
    if (rotation.kind === 'not-found') return NO_DOMAIN
    const { kind, domain } = rotation
    if (kind === 'under-way')
      return refuse('CONFLICT', 'A rotation is under way: publish the records of the next key first.')
    if (kind === 'not-verified')
      return refuse('CONFLICT', `${domain.domain} is ${domain.status}: its keys are not in use yet.`)
    const message =
      'New DKIM keys are made. Publish their records beside the present ones; the present keys sign until then.'
    return { body: { success: true, message, data: presentDomain(domain, ctx.config) } }
  },
})

const uuid = z.string().refine(isUuid, 'must be the id of a domain')
const accountId = z.string().refine(isUuid, 'must be the id of a connected account')
// a time without an offset is UTC, as everywhere
const expiry = z.iso
  .datetime({ offset: true, local: true, error: 'must be a time such as 2031-05-04T10:00:00Z' })
  .transform((text) => new Date(/(?:Z|[+-]\d\d:\d\d)$/.test(text) ? text : `${text}Z`))

const keyBody = z
  .object({
    name: z
      .string()
      .trim()
      .min(1, 'is required')
      .max(255, 'at most 255 characters')
      .regex(/^\P{Cc}*$/u, 'has control characters'),
    custom_domain_id: uuid.nullish(),
    domain_id: uuid.nullish().meta({ description: 'alias of custom_domain_id' }),
    account_id: accountId
      .nullish()
      .meta({ description: 'for a key of a connected account, instead of custom_domain_id' }),
    expires_at: expiry.nullish(),
  })
  .transform(
    ({ name, custom_domain_id: custom, domain_id: alias, account_id: account, expires_at: expiresAt }, sink) => {
      const domainId = custom ?? alias ?? null
      if (domainId === null && account == null)
        sink.addIssue({ code: 'custom', path: ['custom_domain_id'], message: 'is required' })
      if (domainId !== null && account != null)
        sink.addIssue({ code: 'custom', path: ['account_id'], message: 'a key has one sender: a domain or an account' })
      return {
        name,
        sender: domainId === null ? { accountId: account ?? '' } : { domainId },
        expiresAt: expiresAt ?? null,
      }
    },
  )
  .meta({
    required: ['name'],
    examples: [
      { name: 'shop', custom_domain_id: '019a9a00-0000-7000-8000-000000000003', expires_at: '2031-05-04T10:00:00Z' },
    ],
  })

const createDomainKey = route({
  name: 'create-domain-key',
  summary: 'Create a sending key for a verified domain or a connected account; the answer has the key, once',
  method: 'POST',
  paths: ['/public/domains/api-keys/create'],
  access: { admin: 'api-keys:create' },
  body: keyBody,
  status: 201,
  answer: enveloped(
    z.object({
      api_key: z.object({
        id: z.uuid(),
        key_id: z.string(),
        name: z.string(),
        is_active: z.boolean(),
        expires_at: moment.nullable(),
        created_at: moment,
      }),
      secret_key: z.string().meta({ description: 'shown this once' }),
    }),
  ),
  errors: ['VALIDATION_ERROR', 'NOT_FOUND'],
  handle: async (ctx, { caller, body: { name, sender, expiresAt } }) => {
    if (expiresAt !== null && expiresAt.getTime() <= ctx.clock.now())
      return invalid([{ path: 'expires_at', message: 'lies in the past' }])
    const order = {
      kind: 'regular',
      prefix: ctx.config.keyPrefix,
      workspaceId: caller.workspaceId,
      name,
      expiresAt,
    } as const
    const key = await createKey(ctx.db, { ...order, ...sender })
    if (key.kind === 'domain-not-verified')
      return invalid([
        { path: 'custom_domain_id', message: `${key.domain} is not verified (${key.status}): verify it first` },
      ])
    if (key.kind === 'no-account') return refuse('NOT_FOUND', 'There is no such account.')
    if (key.kind !== 'created') return NO_DOMAIN
    const shown = {
      id: key.id,
      key_id: `key_${hexOf(key.id)}`,
      name,
      is_active: true,
      expires_at: expiresAt?.toISOString() ?? null,
      created_at: key.createdAt.toISOString(),
    }
    const data = { api_key: shown, secret_key: key.secretKey }
    return { body: { success: true, message: 'Sending key created. Keep it: it is not shown again.', data } }
  },
})

export const DOMAIN_ROUTES: readonly AnyRoute[] = [add, list, status, verify, remove, rotate, createDomainKey]

const NO_DOMAIN: Refusal = refuse('NOT_FOUND', 'There is no such domain.')

function ownDomain(ctx: ApiContext, workspaceId: string, id: string): Promise<Domain | null> {
  return isUuid(id) ? findDomain(ctx.db, workspaceId, id) : Promise.resolve(null)
}

function presentVerification(domain: Domain): Answer {
  const message = explainStatus(domain)
  const data = {
    id: domain.id,
    domain: domain.domain,
    status: domain.status,
    verification_status: domain.status,
    mail_from_status: domain.mailFromStatus,
    message,
    verified_at: domain.verifiedAt?.toISOString() ?? null,
    checks: presentChecks(domain.checks ?? []),
  }
  return { body: { success: true, message, data } }
}
