/**
 * Sending domains of a workspace: add, list, show, verify and delete them, and rotate their DKIM keys. A domain of
 * another workspace is not found. Verifying by hand queries DNS at most once in a few seconds; in between the endpoint
 * returns the last result. `domain-view.ts` has the shape of a domain, `domain-keys.ts` the endpoint for sending keys.
 */
import { z } from 'zod'
import { DEFAULT_REGION, REGION_NAMES, type Region } from '#config/regions.ts'
import { createDomainDns } from '#src/domains/domain-dns.ts'
import { addDomain, DKIM_RECORDS, findDomain, readDomains, type Domain } from '#src/domains/domains.ts'
import { startManualCheck } from '#src/domains/due-checks.ts'
import { removeDomain } from '#src/domains/domain-removal.ts'
import { rotateDkimKeys } from '#src/domains/key-rotation.ts'
import { verifyDomain } from '#src/domains/verify-domain.ts'
import { invalid, refuse } from '#src/platform/errors.ts'
import { publishNotifications } from '#src/queue/notifications.ts'
import { isUuid } from '#src/platform/id.ts'
import { planOf, type ApiContext } from '#api/http/context.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { nextCursor, paging, wholeLimit } from '#api/http/paging.ts'
import { isRefusal } from '#api/http/response.ts'
import { route, type ApiResponse, type AnyRoute } from '#api/http/route.ts'
import { envelope, nextCursorField, timestamp, plainResponse, translation, warned } from '#api/http/response-schemas.ts'
import { setBimi } from './domain-bimi.ts'
import { createDomainKey } from './domain-keys.ts'
import { checksSchema, domainSchema, explainStatus, NO_DOMAIN, presentChecks, presentDomain } from './domain-view.ts'
import { countText } from '#src/platform/plural.ts'

const ACCESS = { admin: 'domains:manage' } as const
const byDomainId = z.object({ domainID: z.string() })
const byId = z.object({ id: z.string() })
const domainResponse = envelope(domainSchema).meta({ id: 'DomainAnswer' })
const domainList = z.object({
  success: z.literal(true),
  message: z.string(),
  data: z.array(domainSchema),
  page: z.int(),
  limit: z.int(),
  total: z.int(),
  ...nextCursorField,
  ...warned,
})

const addBody = z
  .object({
    domain: z
      .string()
      .max(1000, 'is too long')
      .meta({ description: 'such as example.com; in any case, also an internationalised name' }),
    region: z
      .enum(REGION_NAMES as [Region, ...Region[]])
      .nullish()
      .meta({ description: `cannot be changed later; by default ${DEFAULT_REGION}` }),
    dkim_records: z
      .enum(DKIM_RECORDS)
      .nullish()
      .meta({
        description:
          '`txt`: each DKIM key is a TXT record that you publish, also when it is replaced. `cname`, the default if ' +
          'this installation supports it: CNAME records that you publish once',
      }),
  })
  .meta({ examples: [{ domain: 'example.com' }] })

const rotateBody = z
  .object({
    dkim_records: z
      .literal('cname')
      .nullish()
      .meta({
        description:
          '`cname`: from now on the DKIM names of the domain are CNAME records, and its keys are replaced ' +
          'automatically. By default the records of the next keys are of the present kind',
      }),
  })
  .default({})

const add = route({
  name: 'add-domain',
  summary: 'Add a sending domain; the response contains the DNS records to publish',
  method: 'POST',
  paths: ['/public/domains/add-domain'],
  access: ACCESS,
  body: addBody,
  status: 201,
  response: domainResponse,
  errors: ['VALIDATION_ERROR', 'PLAN_REQUIRED', 'NOT_FOUND', 'CONFLICT'],
  handle: async (ctx, { caller, body }) => {
    const { maxDomains } = planOf(ctx, caller.plan)
    const { domain: name, region, dkim_records: dkimRecords } = body
    const added = await addDomain(ctx, {
      workspaceId: caller.workspaceId,
      name,
      region: region ?? DEFAULT_REGION,
      max: maxDomains,
      ...(dkimRecords ? { dkimRecords } : {}),
    })
    if (added.kind === 'invalid') return invalid([{ path: 'domain', message: added.reason }])
    if (added.kind === 'no-workspace') return NO_DOMAIN
    if (added.kind === 'too-many')
      return refuse(
        'PLAN_REQUIRED',
        `The plan ${caller.plan} has at most ${countText(added.max, 'sending domain')}. ` +
          'Remove one, or ask for another plan.',
      )
    const { domain } = added
    if (added.kind === 'exists')
      return refuse(
        'CONFLICT',
        `This workspace already has ${domain.domain} (${domain.id}, ${domain.status}). Use that one.`,
      )
    const message = `${domain.domain} is added. Publish its DNS records, then verify it.`
    return { body: { success: true, message, data: presentDomain(domain, ctx.config) } }
  },
})

const list = route({
  name: 'get-domains',
  summary: 'List the sending domains of the workspace, oldest first',
  method: 'GET',
  paths: ['/public/domains/get-domains'],
  access: ACCESS,
  status: 200,
  errors: [],
  query: paging.extend({ limit: wholeLimit }),
  response: domainList,
  handle: async (ctx, request) => {
    const opened = openPage(ctx, 'get-domains', request)
    if (isRefusal(opened)) return opened
    const { items, total, next } = await readDomains(ctx.db, request.caller.workspaceId, opened)
    const { page, limit } = opened
    const data = items.map((domain) => presentDomain(domain, ctx.config))
    const body = { success: true, message: `${countText(total, 'sending domain')}.`, data, page, limit, total }
    return { body: { ...body, ...nextCursor(next, opened) } }
  },
})

const status = route({
  name: 'domain-status',
  summary: 'Get a sending domain and its status',
  method: 'GET',
  paths: ['/public/domains/domain-status/:domainID'],
  access: ACCESS,
  params: byDomainId,
  status: 200,
  response: domainResponse,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const domain = await findOwnDomain(ctx, caller.workspaceId, params.domainID)
    if (domain === null) return NO_DOMAIN
    return { body: { success: true, message: explainStatus(domain).text, data: presentDomain(domain, ctx.config) } }
  },
})

const verify = route({
  name: 'verify-domain',
  summary: 'Verify a sending domain: check its DNS records now',
  method: 'POST',
  paths: ['/public/domains/verify-domain/:domainID'],
  access: ACCESS,
  params: byDomainId,
  status: 200,
  response: envelope(
    z.object({
      id: z.uuid(),
      domain: z.string(),
      status: z.string(),
      verification_status: z.string(),
      mail_from_status: z.string(),
      message: z.string(),
      message_translations: z
        .array(translation)
        .meta({ description: 'of the sentences of the message, in their order; empty: there are none' }),
      verified_at: timestamp.nullable(),
      checks: checksSchema,
    }),
  ),
  errors: ['NOT_FOUND', 'CONFLICT'],
  handle: async (ctx, { caller, params }) => {
    const domain = await findOwnDomain(ctx, caller.workspaceId, params.domainID)
    if (domain === null) return NO_DOMAIN
    if (!(await startManualCheck(ctx, domain.id))) return presentVerification(domain)
    const { kind, domain: checked, notifications: news } = await verifyDomain(ctx, createDomainDns(ctx.config), domain)
    publishNotifications(ctx, news)
    if (kind === 'not-found') return NO_DOMAIN
    if (kind !== 'taken') return presentVerification(checked)
    return refuse(
      'CONFLICT',
      `The DNS records of ${checked.domain} are correct, but another workspace has verified this domain. ` +
        'Wait: it is released when that workspace deletes it, or one day after its records are removed from DNS.',
    )
  },
})

const remove = route({
  name: 'delete-domain',
  summary: 'Delete a sending domain: its keys stop working immediately, and its queued mail fails',
  method: 'DELETE',
  paths: ['/public/domains/delete-domain/:id'],
  access: ACCESS,
  params: byId,
  status: 200,
  response: plainResponse,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params }) =>
    isUuid(params.id) && (await removeDomain(ctx, caller.workspaceId, params.id))
      ? {
          body: {
            success: true,
            message: 'The domain is deleted. Its keys no longer work, and its queued mail fails.',
          },
        }
      : NO_DOMAIN,
})

const rotate = route({
  name: 'rotate-dkim',
  summary: 'Rotate the DKIM keys: the new keys sign once their records have been in DNS for 10 minutes',
  method: 'POST',
  paths: ['/public/domains/rotate-dkim/:id'],
  access: ACCESS,
  params: byId,
  body: rotateBody,
  status: 200,
  response: domainResponse,
  errors: ['VALIDATION_ERROR', 'NOT_FOUND', 'CONFLICT'],
  handle: async (ctx, { caller, params, body }) => {
    const { workspaceId } = caller
    const delegate = body.dkim_records === 'cname'
    const rotation = isUuid(params.id)
      ? await rotateDkimKeys(ctx, { workspaceId, id: params.id, delegate })
      : { kind: 'not-found' as const }
    if (rotation.kind === 'not-found') return NO_DOMAIN
    const { kind, domain } = rotation
    if (kind === 'under-way')
      return refuse('CONFLICT', 'A rotation is in progress: publish the records of the next key first.')
    if (kind === 'no-zone') return invalid([{ path: 'dkim_records', message: NO_ZONE }])
    if (kind === 'too-soon')
      return refuse(
        'CONFLICT',
        `The previous keys still verify mail in transit. Repeat this after ${isoDate(rotation.untilMs)}.`,
      )
    if (kind === 'not-verified')
      return refuse('CONFLICT', `${domain.domain} is ${domain.status}: its keys are not in use yet. Verify it first.`)
    const message = domain.dkimZone === null || delegate ? PUBLISH_NEXT : REPLACED
    return { body: { success: true, message, data: presentDomain(domain, ctx.config) } }
  },
})

const NO_ZONE = 'this installation has no zone for DKIM keys; ask its operator to set DKIM_ZONE'
const PUBLISH_NEXT =
  'New DKIM keys are created. Publish their records next to the present ones; the present keys sign until then.'
const REPLACED =
  'New DKIM keys are created. They sign once they have been in DNS for a while; you need not publish anything.'

function isoDate(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

export const DOMAIN_ROUTES: readonly AnyRoute[] = [add, list, status, verify, remove, rotate, setBimi, createDomainKey]

function findOwnDomain(ctx: ApiContext, workspaceId: string, id: string): Promise<Domain | null> {
  return isUuid(id) ? findDomain(ctx.db, workspaceId, id) : Promise.resolve(null)
}

function presentVerification(domain: Domain): ApiResponse {
  const { text: message, sentences } = explainStatus(domain)
  const data = {
    id: domain.id,
    domain: domain.domain,
    status: domain.status,
    verification_status: domain.status,
    mail_from_status: domain.mailFromStatus,
    message,
    message_translations: sentences,
    verified_at: domain.verifiedAt?.toISOString() ?? null,
    checks: presentChecks(domain.checks ?? []),
  }
  return { body: { success: true, message, data } }
}
