/**
 * What a person reads at the end of a run: throughput beside the references, CPU and memory by process, latencies, the
 * depth of the queue, and the verdicts. Medians with minimum and maximum in brackets. Pure: results in, text out.
 */
import type { Machine } from '#bench/harness/machine.ts'
import type { Results } from './results.ts'
import { acceptance, foreign, processes, throughput } from './comparison-tables.ts'
import * as tables from './scenario-tables.ts'
import { count, table } from './table.ts'
import type { Verdict } from './targets.ts'

export function writeReport(machine: Machine, results: Results, verdicts: readonly Verdict[]): string {
  const blocks = [
    describe(machine),
    ...comparisons(results),
    ...latencies(results),
    ...volumes(results),
    ...(verdicts.length > 0 ? ['Targets', verdictTable(verdicts)] : []),
  ]
  return `${blocks.filter((block) => block !== '').join('\n\n')}\n`
}

function comparisons({ e2e, smtp, references }: Results): string[] {
  const smtpTitle = 'SMTP in, SMTP out, 4 KB, one mail a connection, DKIM RSA-2048'
  return [
    ...section(e2e, () => 'End to end, 4 KB, one recipient, DKIM RSA-2048', throughput, processes, acceptance, foreign),
    ...section(smtp, () => smtpTitle, throughput, processes, foreign),
    ...section(references, () => 'The references alone', throughput, processes, foreign),
  ]
}

function latencies({ latency, tarpits, backlog }: Results): string[] {
  return [
    ...section(latency, () => 'Instant mail on an idle server', tables.latencyTable),
    ...section(
      tarpits,
      ({ tarpits: slow, dead, queued }) =>
        `Instant mail while ${slow} tarpits and ${dead} dead sites have ${count(queued)} bulk mails (accept to 250)`,
      tables.tarpitsTable,
    ),
    ...section(
      backlog,
      ({ queued }) => `Instant mail with ${count(queued)} bulk mails queued (accept to 250)`,
      tables.backlogTable,
    ),
  ]
}

function volumes({ depth, api, import: imported, contacts, campaign, automations, tracking }: Results): string[] {
  return [
    ...section(depth, () => 'Draining a short and a long queue', tables.depthTable),
    ...section(api, () => 'The REST API beside the bare stack, 50 connections', tables.apiTable),
    ...section(
      imported,
      ({ rows, megabytes }) => `Importing ${count(rows)} contacts, ${megabytes.toFixed(0)} MB of CSV`,
      tables.importTable,
    ),
    ...section(contacts, ({ members }) => `Pages of an audience of ${count(members)}`, tables.contactsTable),
    ...section(campaign, (result) => `A campaign to ${count(result.contacts)} contacts`, tables.campaignTable),
    ...section(
      automations,
      ({ steps }) => `${count(steps)} steps of an automation, due at one moment`,
      tables.automationsTable,
    ),
    ...section(tracking, ({ mails }) => `Opens and clicks of ${count(mails)} mails`, tables.trackingTable),
  ]
}

/** Nothing for a scenario that was not run. */
function section<T>(
  result: T | undefined,
  title: (result: T) => string,
  ...writers: readonly ((result: T) => string)[]
): string[] {
  return result === undefined ? [] : [title(result), ...writers.map((write) => write(result))]
}

function describe({ cpu, cores, memoryGb, kernel, node, commit, loadBefore, isDiskInMemory }: Machine): string {
  const load = loadBefore.toFixed(1)
  const lines = [
    `${cores} x ${cpu}, ${memoryGb} GB, Linux ${kernel}, Node ${node}${commit === '' ? '' : `, commit ${commit}`}`,
    ...(loadBefore > 0.5
      ? [`The machine was busy before the start (load ${load}): trust the ratios, not the digits.`]
      : []),
    ...(isDiskInMemory
      ? ['/var/tmp is in memory: durable writes cost nothing here, and the figures are too good.']
      : []),
  ]
  return lines.join('\n')
}

function verdictTable(verdicts: readonly Verdict[]): string {
  const word = (isMet: boolean | null): string => (isMet === null ? '?' : isMet ? 'pass' : 'FAIL')
  const rows = verdicts.map(({ target, measured, required, aim, isMet }) => [
    target,
    measured,
    required,
    aim,
    word(isMet),
  ])
  return table([['', 'measured', 'required', 'aim', ''], ...rows])
}
