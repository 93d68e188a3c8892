/**
 * Writes the report that is printed at the end of a run: throughput beside the references, CPU and memory by process,
 * latencies, queue depth and targets. Values are medians with minimum and maximum in brackets. A pure function.
 */
import type { MachineInfo } from '#bench/harness/machine.ts'
import type { BenchResults } from './results.ts'
import { acceptanceTable, otherProcessesNote, processTable, threadTable, throughputTable } from './comparison-tables.ts'
import { coresTable } from './cores-table.ts'
import * as tables from './scenario-tables.ts'
import { formatCount, formatTable } from './table.ts'
import type { TargetResult } from './targets.ts'

export function writeReport(machine: MachineInfo, results: BenchResults, targets: readonly TargetResult[]): string {
  const blocks = [
    describeRun(machine),
    ...comparisons(results),
    ...latencies(results),
    ...volumes(results),
    ...section(results.stages, () => 'Stages of the main threads (profiles)', tables.stagesTable),
    ...(targets.length > 0 ? ['Targets', targetTable(targets)] : []),
  ]
  return `${blocks.filter((block) => block !== '').join('\n\n')}\n`
}

function comparisons({ e2e, smtp, submission, references }: BenchResults): string[] {
  const smtpTitle = 'SMTP in, SMTP out, one mail a connection, DKIM RSA-2048'
  return [
    ...section(
      e2e,
      () => 'End to end, one recipient, DKIM RSA-2048',
      throughputTable,
      processTable,
      threadTable,
      acceptanceTable,
      otherProcessesNote,
    ),
    ...section(smtp, () => smtpTitle, throughputTable, processTable, threadTable, otherProcessesNote),
    ...section(submission, () => 'SMTP in, accepted and stored, no delivery', tables.submissionTable),
    ...section(references, () => 'The references alone', throughputTable, processTable, otherProcessesNote),
  ]
}

function latencies({ latency, tarpits, backlog }: BenchResults): string[] {
  return [
    ...section(latency, () => 'Instant mail on an idle server', tables.latencyTable),
    ...section(
      tarpits,
      ({ tarpits: slow, dead, queued }) =>
        `Instant mail with ${formatCount(queued)} bulk mails for ${slow} tarpits, ${dead} dead sites (accept to 250)`,
      tables.tarpitsTable,
    ),
    ...section(
      backlog,
      ({ queued }) => `Instant mail with ${formatCount(queued)} bulk mails queued (accept to 250)`,
      tables.backlogTable,
    ),
  ]
}

function volumes({
  depth,
  cores,
  api,
  import: imported,
  contacts,
  campaign,
  automations,
  tracking,
  streams,
}: BenchResults): string[] {
  return [
    ...section(depth, () => 'Draining a short and a long queue', tables.depthTable),
    ...section(cores, () => 'Several outbound processes, 4 KB HTML', coresTable),
    ...section(api, () => 'The REST API beside the bare stack, 50 connections', tables.apiTable),
    ...section(
      imported,
      ({ rows, megabytes }) => `Importing ${formatCount(rows)} contacts, ${megabytes.toFixed(0)} MB of CSV`,
      tables.importTable,
    ),
    ...section(contacts, ({ members }) => `Pages of an audience of ${formatCount(members)}`, tables.contactsTable),
    ...section(campaign, (result) => `A campaign to ${formatCount(result.contacts)} contacts`, tables.campaignTable),
    ...section(
      automations,
      ({ steps }) => `${formatCount(steps)} steps of an automation, due at one moment`,
      tables.automationsTable,
    ),
    ...section(tracking, ({ mails }) => `Opens and clicks of ${formatCount(mails)} mails`, tables.trackingTable),
    ...section(streams, (result) => `${formatCount(result.streams)} open streams of changes`, tables.streamsTable),
  ]
}

/** A scenario that did not run has no section. */
function section<T>(
  result: T | undefined,
  title: (result: T) => string,
  ...writers: readonly ((result: T) => string)[]
): string[] {
  return result === undefined ? [] : [title(result), ...writers.map((write) => write(result))]
}

function describeRun({ cpu, cores, memoryGb, kernel, node, commit, loadBefore, isDiskInMemory }: MachineInfo): string {
  const load = loadBefore.toFixed(1)
  const lines = [
    `${cores} x ${cpu}, ${memoryGb} GB, Linux ${kernel}, Node ${node}${commit === '' ? '' : `, commit ${commit}`}`,
    ...(loadBefore > 0.5
      ? [`The machine was busy before the start (load ${load}): compare ratios, not absolute values.`]
      : []),
    ...(isDiskInMemory
      ? ['/var/tmp is in memory: durable writes cost nothing here, so the results are too good.']
      : []),
  ]
  return lines.join('\n')
}

function targetTable(targets: readonly TargetResult[]): string {
  const word = (isMet: boolean | null): string => (isMet === null ? '?' : isMet ? 'pass' : 'FAIL')
  const rows = targets.map(({ target, measured, required, goal, isMet }) => [
    target,
    measured,
    required,
    goal,
    word(isMet),
  ])
  return formatTable([['', 'measured', 'required', 'aim', ''], ...rows])
}
