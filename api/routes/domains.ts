/**
 * Sending domains of a workspace: add, list, show, verify and delete them, and rotate their DKIM keys. A domain of
 * another workspace is not found. Verifying by hand queries DNS at most once in a few seconds; in between the endpoint
 * returns the last result. `domain-view.ts` has the shape of a domain, `domain-keys.ts` the endpoint for sending keys.
 */
import { z } from 'zod'
import { DEFAULT_REGION, REGION_NAMES, type Region } from '#config/regions.ts'
import { createDomainDns } from '#src/domains/dns.ts'
import { addDomain, countDomains, findDomain, listDomains, type Domain } from '#src/domains/domains.ts'
import { mayCheck } from '#src/domains/due.ts'
import { removeDomain } from '#src/domains/removal.ts'
import { rotateKeys } from '#src/domains/rotation.ts'
import { verifyDomain } from '#src/domains/verify.ts'
import { invalid, refuse } from '#src/platform/errors.ts'
import { announce } from '#src/queue/notifications.ts'
import { isUuid } from '#src/platform/id.ts'
import { planOf, type ApiContext } from '#api/http/context.ts'
import { paging } from '#api/http/paging.ts'
import { route, type Answer, type AnyRoute } from '#api/http/route.ts'
import { enveloped, moment, plainAnswer } from '#api/http/answer-shapes.ts'
import { createDomainKey } from './domain-keys.ts'
import { checksShape, domainShape, explainStatus, NO_DOMAIN, presentChecks, presentDomain } from './domain-view.ts'

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

export const DOMAIN_ROUTES: readonly AnyRoute[] = [add, list, status, verify, remove, rotate, createDomainKey]

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
