/** `mailstead domain`: sending domains, the DNS records to publish, whether they are there, and new DKIM keys. */
import { type Actions, type Call, type Io, runActions, UsageError } from '#bin/cli/actions.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'
import { withContext } from '#bin/cli/context.ts'
import { workspaceOf } from '#bin/cli/find-workspace.ts'
import { Trouble } from '#bin/supervisor/user-error.ts'
import type { Config } from '#config/load.ts'
import { DEFAULT_REGION, REGION_NAMES, REGIONS, type Region } from '#config/regions.ts'
import type { Queryable } from '#src/stores/db.ts'
import { createDomainDns } from '#src/domains/domain-dns.ts'
import { addDomain, type Domain, findDomain, listDomains, searchDomains, trustDomain } from '#src/domains/domains.ts'
import { readDomainName } from '#src/domains/domain-name.ts'
import { type DnsRecord, domainRecords, serviceHostsOf, returnPathRecords } from '#src/domains/records.ts'
import { rotateDkimKeys } from '#src/domains/key-rotation.ts'
import { type Verification, verifyDomain } from '#src/domains/verify-domain.ts'
import { isUuid } from '#src/platform/id.ts'

const MAX_LISTED = 10_000

const ACTIONS: Actions = {
  add: {
    usage: `add --workspace ID D [--region ${REGION_NAMES.join('|')}]`,
    options: ['workspace', 'region'],
    words: [1, 1],
    run: (call) => {
      const name = readName(call.word(0))
      const workspaceText = call.required('workspace')
      const region = readRegion(call.option('region'))
      return withContext(call.io, async (ctx) => {
        const workspace = await workspaceOf(ctx.db, workspaceText)
        const added = await addDomain(ctx, { workspaceId: workspace.id, name, region })
        if (added.kind === 'invalid') return call.fail(added.reason)
        if (!('domain' in added)) return call.fail('The workspace is gone.')
        const { domain } = added
        const present = `The workspace has ${name} already (${domain.id}, ${domain.status}).`
        const head = added.kind === 'added' ? `Domain ${name} (${domain.id}) is added.` : present
        const text = `${head} Publish these DNS records:\n\n${recordsText(domain, ctx.config)}\n\nThen: mailstead domain verify ${name}`
        return call.answer(text, jsonOf(domain, ctx.config))
      })
    },
  },
  verify: {
    usage: 'verify D [--trust] [--workspace ID]',
    options: ['workspace'],
    flags: ['trust'],
    words: [1, 1],
    run: (call) => {
      const text = isUuid(call.word(0)) ? call.word(0) : readName(call.word(0))
      return withContext(call.io, async (ctx) => {
        const domain = await onlyDomain(ctx.db, text, call.option('workspace'))
        if (!call.has('trust')) return report(call, await verifyDomain(ctx, createDomainDns(ctx.config), domain))
        const kind = await trustDomain(ctx.db, domain.id)
        return report(call, {
          kind,
          checks: [],
          domain: (await findDomain(ctx.db, domain.workspaceId, domain.id)) ?? domain,
        })
      })
    },
  },
  rotate: {
    usage: 'rotate D [--workspace ID]',
    options: ['workspace'],
    words: [1, 1],
    run: (call) => {
      const text = isUuid(call.word(0)) ? call.word(0) : readName(call.word(0))
      return withContext(call.io, async (ctx) => {
        const { workspaceId, id } = await onlyDomain(ctx.db, text, call.option('workspace'))
        const rotation = await rotateDkimKeys(ctx, workspaceId, id)
        if (rotation.kind === 'not-found') return call.fail(`${text} was removed meanwhile.`)
        const { kind, domain } = rotation
        if (kind === 'not-verified')
          return call.fail(`${domain.domain} is ${domain.status}: its keys are not in use yet.`)
        const head = kind === 'begun' ? 'New DKIM keys are made.' : 'A rotation is under way.'
        const what = 'Publish the records of the next key; it signs once they were in DNS for 10 minutes:'
        return call.answer(`${head} ${what}\n\n${recordsText(domain, ctx.config)}`, jsonOf(domain, ctx.config))
      })
    },
  },
  list: {
    usage: 'list [--workspace ID]',
    options: ['workspace'],
    run: (call) =>
      withContext(call.io, async ({ db, config }) => {
        const workspace = call.option('workspace')
        const rows = await listDomains(
          db,
          workspace === null ? null : (await workspaceOf(db, workspace)).id,
          MAX_LISTED,
        )
        const text = tableText(
          ['ID', 'WORKSPACE', 'STATUS', 'DOMAIN'],
          rows.map((row) => [row.id, row.workspaceId, row.status, row.domain]),
        )
        return call.answer(
          text,
          rows.map((row) => jsonOf(row, config)),
        )
      }),
  },
}

export function run(args: string[], io?: Io): Promise<number> {
  return runActions('domain', ACTIONS, args, io)
}

function readName(text: string): string {
  const read = readDomainName(text)
  if (!read.ok) throw new UsageError(`${JSON.stringify(text)} is no domain: ${read.reason}`)
  return read.name
}

function readRegion(text: string | null): Region {
  const region = REGION_NAMES.find((one) => one === (text ?? DEFAULT_REGION))
  if (region === undefined) throw new UsageError(`--region is one of ${REGION_NAMES.join(', ')}`)
  return region
}

/** Several workspaces may claim one name: then the operator says which is meant. */
async function onlyDomain(db: Queryable, text: string, workspaceText: string | null): Promise<Domain> {
  const workspaceId = workspaceText === null ? null : (await workspaceOf(db, workspaceText)).id
  const [domain, ...others] = await searchDomains(db, text, workspaceId)
  if (domain === undefined)
    throw new Trouble(`There is no domain ${text}. See mailstead domain list; add one with mailstead domain add.`)
  if (others.length === 0) return domain
  const claims = [domain, ...others].map((one) => `  ${one.workspaceId} (${one.status})`)
  throw new Trouble(`Several workspaces have ${text}; say which with --workspace:\n${claims.join('\n')}`)
}

function report(call: Call, { kind, checks, domain }: Omit<Verification, 'notifications'>): number {
  const lines = checks.map(
    (check) => `  ${check.status === 'ok' ? 'ok     ' : check.isRequired ? 'MISSING' : 'advised'} ${check.message}`,
  )
  const json = {
    id: domain.id,
    domain: domain.domain,
    verification_status: domain.status,
    verified_at: domain.verifiedAt,
    checks: checks.map(({ isRequired, ...check }) => ({ ...check, required: isRequired })),
  }
  call.answer([headline(domain, kind), ...lines].join('\n'), json)
  return kind === 'verified' ? 0 : 1
}

function headline({ domain }: Domain, kind: Verification['kind']): string {
  if (kind === 'verified') return `${domain} is verified and may send.`
  if (kind === 'taken') return `${domain} is held verified by another workspace: see mailstead domain list.`
  if (kind === 'not-found') return `${domain} was removed meanwhile.`
  return `${domain} is not verified. DNS may take some minutes to show a new record.`
}

function recordsOf(domain: Domain, config: Config): DnsRecord[] {
  const place = serviceHostsOf(config)
  return [...domainRecords(domain, place), ...returnPathRecords(place)]
}

function jsonOf(domain: Domain, config: Config): Record<string, unknown> {
  return {
    id: domain.id,
    domain: domain.domain,
    workspace_id: domain.workspaceId,
    verification_status: domain.status,
    mail_from_status: domain.mailFromStatus,
    region: domain.region,
    egress_pool: REGIONS[domain.region].pool,
    verified_at: domain.verifiedAt,
    created_at: domain.createdAt,
    dns_records: recordsOf(domain, config).map(({ isRequired, ...record }) => ({ ...record, required: isRequired })),
  }
}

function recordsText(domain: Domain, config: Config): string {
  return tableText(
    ['', 'TYPE', 'NAME', 'VALUE'],
    recordsOf(domain, config).map(({ isRequired, type, name, value, priority }) => [
      isRequired ? 'required' : 'advised',
      type,
      name,
      priority === undefined ? value : `${priority} ${value}`,
    ]),
  )
}
