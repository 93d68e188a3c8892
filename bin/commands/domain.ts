/** `mailstead domain`: sending domains, the DNS records to publish, and whether they are there. */
import { type Actions, type Call, type Io, runActions, tableText, UsageError } from '#bin/cli.ts'
import { withContext } from '#bin/cli-context.ts'
import { workspaceOf } from '#bin/find-workspace.ts'
import { Trouble } from '#bin/supervisor/trouble.ts'
import type { Config } from '#config/load.ts'
import type { Queryable } from '#src/db.ts'
import { addDomain, type Domain, findDomain, listDomains, type Region, REGIONS, searchDomains, trustDomain } from '#src/domains/domains.ts'
import { readDomainName } from '#src/domains/name.ts'
import { type DnsRecord, domainRecords, returnPathRecords } from '#src/domains/records.ts'
import { type Verification, verifyDomain } from '#src/domains/verify.ts'
import { isUuid } from '#src/id.ts'

const MAX_LISTED = 10_000

const ACTIONS: Actions = {
  add: {
    usage: `add --workspace ID D [--region ${REGIONS.join('|')}]`,
    options: ['workspace', 'region'],
    words: [1, 1],
    run: (call) => {
      const name = readName(call.word(0))
      const workspaceText = call.required('workspace')
      const region = readRegion(call.option('region'))
      return withContext(call.io, async (ctx) => {
        const workspace = await workspaceOf(ctx.db, workspaceText)
        const added = await addDomain(ctx, workspace.id, name, region)
        if (added.kind === 'invalid') return call.fail(added.reason)
        if (added.kind === 'no-workspace') return call.fail('The workspace is gone.')
        const { domain } = added
        const head = added.kind === 'added' ? `Domain ${name} (${domain.id}) is added.` : `The workspace has ${name} already (${domain.id}, ${domain.status}).`
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
        const result = call.has('trust') ? { kind: await trustDomain(ctx.db, domain.id), checks: [] } : await verifyDomain(ctx, domain)
        return report(call, domain, result, await findDomain(ctx.db, domain.workspaceId, domain.id) ?? domain)
      })
    },
  },
  list: {
    usage: 'list [--workspace ID]',
    options: ['workspace'],
    run: (call) => withContext(call.io, async ({ db, config }) => {
      const workspace = call.option('workspace')
      const rows = await listDomains(db, workspace === null ? null : (await workspaceOf(db, workspace)).id, MAX_LISTED)
      const text = tableText(['ID', 'WORKSPACE', 'STATUS', 'DOMAIN'], rows.map((row) => [row.id, row.workspaceId, row.status, row.domain]))
      return call.answer(text, rows.map((row) => jsonOf(row, config)))
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
  const region = REGIONS.find((one) => one === (text ?? REGIONS[0]))
  if (region === undefined) throw new UsageError(`--region is one of ${REGIONS.join(', ')}`)
  return region
}

/** Several workspaces may claim one name: then the operator says which is meant. */
async function onlyDomain(db: Queryable, text: string, workspaceText: string | null): Promise<Domain> {
  const workspaceId = workspaceText === null ? null : (await workspaceOf(db, workspaceText)).id
  const [domain, ...others] = await searchDomains(db, text, workspaceId)
  if (domain === undefined) throw new Trouble(`There is no domain ${text}. See mailstead domain list; add one with mailstead domain add.`)
  if (others.length === 0) return domain
  const claims = [domain, ...others].map((one) => `  ${one.workspaceId} (${one.status})`)
  throw new Trouble(`Several workspaces have ${text}; say which with --workspace:\n${claims.join('\n')}`)
}

function report(call: Call, domain: Domain, { kind, checks }: Verification, now: Domain): number {
  const lines = checks.map((check) => `  ${check.status === 'ok' ? 'ok     ' : check.isRequired ? 'MISSING' : 'advised'} ${check.message}`)
  const json = {
    id: domain.id, domain: domain.domain, verification_status: now.status, verified_at: now.verifiedAt,
    checks: checks.map(({ name, algorithm, isRequired, status, message }) => ({ name, algorithm, required: isRequired, status, message })),
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

function recordsOf({ domain, keys }: Domain, config: Config): DnsRecord[] {
  return [...domainRecords(domain, keys, config.bounceDomain), ...returnPathRecords(config.bounceDomain, config.serverName)]
}

function jsonOf(domain: Domain, config: Config): Record<string, unknown> {
  return {
    id: domain.id, domain: domain.domain, workspace_id: domain.workspaceId, verification_status: domain.status, region: domain.region,
    verified_at: domain.verifiedAt, created_at: domain.createdAt,
    dns_records: recordsOf(domain, config).map(({ isRequired, ...record }) => ({ ...record, required: isRequired })),
  }
}

function recordsText(domain: Domain, config: Config): string {
  return tableText(['', 'TYPE', 'NAME', 'VALUE'], recordsOf(domain, config).map(({ isRequired, type, name, value, priority }) => [
    isRequired ? 'required' : 'advised', type, name, priority === undefined ? value : `${priority} ${value}`,
  ]))
}
