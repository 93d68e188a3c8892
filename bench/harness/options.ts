/**
 * The command-line options of `npm run bench -- …`, and the sizes of each
 * scenario: one set for a full run, and one for `--quick`, which only shows that
 * everything works.
 */
import { parseArgs } from 'node:util'
import { MIXES, type MailMix } from '#bench/mails/mail-mix.ts'

export const SCENARIOS = [
  'e2e',
  'smtp',
  'submission',
  'latency',
  'backlog',
  'depth',
  'cores',
  'api',
  'import',
  'contacts',
  'tarpits',
  'campaign',
  'automations',
  'tracking',
  'streams',
  'references',
] as const
export type Scenario = (typeof SCENARIOS)[number]

export interface BenchSizes {
  readonly repeats: number
  /** Messages of one end-to-end measurement, and of one of a reference server. */
  readonly messages: number
  readonly referenceMessages: number
  /** Messages of the trial that chooses the faster configuration of a reference. */
  readonly trialMessages: number
  /** Messages sent before each measurement, so that connections are open and code is compiled. */
  readonly warmUp: number
  /** Messages by SMTP in each way of sending them, and before the first measurement of it. */
  readonly submissions: number
  readonly submissionWarmUp: number
  /** Timed instant messages on an idle server. */
  readonly probes: number
  /** Bulk mail that is queued before the instant mail is sent. */
  readonly backlog: number
  /** Timed instant messages during the drain, for each of two sites. */
  readonly backlogProbes: number
  /** Length of the short queue, how often it is drained, and length of the long queue. */
  readonly shallow: number
  readonly shallowRounds: number
  readonly deep: number
  /** Messages drained before the long queue is measured: the outbound process was just started. */
  readonly deepWarmUp: number
  /** Messages in one window of the long drain; as many as all short drains together. */
  readonly window: number
  /** Messages that each number of outbound processes sends. */
  readonly coresMessages: number
  /** Requests of each kind in one round and in the warm-up; number of contacts that are read. */
  readonly apiRequests: number
  readonly apiWarmUp: number
  readonly apiContacts: number
  /** Rows in the imported file. */
  readonly importRows: number
  /** Members of the audience, and number of pages that are requested in each sort order. */
  readonly members: number
  readonly pages: number
  /** Sites that send a byte every five seconds, sites that drop connections, bulk mail to both, and instant mail. */
  readonly tarpits: number
  readonly deadSites: number
  readonly tarpitBacklog: number
  readonly tarpitProbes: number
  /** Contacts of the campaign; mails measured after its ledger is written, and as many transactional mails. */
  readonly campaignContacts: number
  readonly campaignMails: number
  /** Automation steps that are due at the same time, and instant mail meanwhile. */
  readonly automationSteps: number
  readonly automationProbes: number
  /** Mails with tracking, and requests for their pixels and links in one round. */
  readonly trackedMails: number
  readonly trackedRequests: number
  /** Open streams of changes, and changes that are timed on their way to them. */
  readonly streams: number
  readonly streamChanges: number
}

const FULL: BenchSizes = {
  repeats: 5,
  messages: 20_000,
  referenceMessages: 20_000,
  trialMessages: 3_000,
  warmUp: 3_000,
  submissions: 3_000,
  submissionWarmUp: 500,
  probes: 200,
  backlog: 100_000,
  backlogProbes: 100,
  shallow: 1_000,
  shallowRounds: 10,
  deep: 1_000_000,
  deepWarmUp: 20_000,
  window: 10_000,
  coresMessages: 8_000,
  apiRequests: 10_000,
  apiWarmUp: 10_000,
  apiContacts: 1_000,
  importRows: 1_000_000,
  members: 1_000_000,
  pages: 20,
  tarpits: 200,
  deadSites: 50,
  tarpitBacklog: 100_000,
  tarpitProbes: 600,
  campaignContacts: 1_000_000,
  campaignMails: 20_000,
  automationSteps: 100_000,
  automationProbes: 150,
  trackedMails: 10_000,
  trackedRequests: 60_000,
  streams: 2_000,
  streamChanges: 300,
}
const QUICK: BenchSizes = {
  repeats: 1,
  messages: 2_000,
  referenceMessages: 500,
  trialMessages: 200,
  warmUp: 200,
  submissions: 300,
  submissionWarmUp: 50,
  probes: 20,
  backlog: 3_000,
  backlogProbes: 10,
  shallow: 200,
  shallowRounds: 3,
  deep: 4_000,
  deepWarmUp: 1_000,
  window: 600,
  coresMessages: 600,
  apiRequests: 1_000,
  apiWarmUp: 500,
  apiContacts: 50,
  importRows: 20_000,
  members: 20_000,
  pages: 5,
  tarpits: 200,
  deadSites: 50,
  tarpitBacklog: 5_000,
  tarpitProbes: 100,
  campaignContacts: 10_000,
  campaignMails: 2_000,
  automationSteps: 2_000,
  automationProbes: 20,
  trackedMails: 1_000,
  trackedRequests: 10_000,
  streams: 100,
  streamChanges: 20,
}

export interface BenchOptions {
  readonly scenarios: readonly Scenario[]
  readonly sizes: BenchSizes
  readonly isQuick: boolean
  /** The mail of `e2e`, `smtp` and `references`. */
  readonly mix: MailMix
  /** False: `e2e` and `smtp` measure Mailstead alone, without ratios. */
  readonly hasReferences: boolean
  /** Write CPU profiles of Mailstead's processes; this costs a few per cent. */
  readonly isProfiled: boolean
}

export const USAGE = `Usage: npm run bench -- [${SCENARIOS.join('] [')}] [options]

  e2e            REST to the receiver, beside Haraka and Postfix in the same run
  smtp           SMTP in and out, beside Haraka and Postfix in the same run
  submission     SMTP in alone: one mail or many a connection, with and without TLS and AUTH
  latency        one instant mail at a time on an idle server
  backlog        instant mail while much bulk mail is queued
  depth          cost of a message with a short and a long queue
  cores          1 to 16 outbound processes on bound cores, and what follows for 8 and 32 cores
  api            accepts and reads of the REST API, beside the bare stack
  import         a file of a million contacts into an audience
  contacts       pages of an audience of a million
  tarpits        instant mail while 200 tarpits and 50 dead sites have all the bulk mail
  campaign       a campaign to a million contacts, beside transactional mail
  automations    100,000 steps due at the same time, and instant mail meanwhile
  tracking       open pixels and links of tracked mail
  references     the reference servers alone
Without a name: all except references.

  --quick           small numbers: does everything work?
  --mail KIND       mail of e2e, smtp and references: ${MIXES.join(', ')} (mixed)
  --repeats N       repeats of e2e, smtp, submission, api and references (5)
  --messages N      messages of one repeat of e2e, smtp and references, for each server (20000)
  --no-references   e2e and smtp without Haraka and Postfix
  --profile         CPU profiles of api, mta and worker into bench/out
`

/** Returns the options, or a message that says what is wrong with the arguments. */
export function parseOptions(args: readonly string[]): BenchOptions | string {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        quick: { type: 'boolean', default: false },
        repeats: { type: 'string' },
        messages: { type: 'string' },
        mail: { type: 'string', default: 'mixed' },
        'no-references': { type: 'boolean', default: false },
        profile: { type: 'boolean', default: false },
      },
    })
    const unknown = positionals.find((name) => !isScenario(name))
    if (unknown !== undefined) return `unknown scenario ${JSON.stringify(unknown)}; --help lists all of them`
    const mix = MIXES.find((name) => name === values.mail)
    if (mix === undefined) return `unknown kind of mail ${JSON.stringify(values.mail)}: use ${MIXES.join(', ')}`
    const sizes = values.quick ? QUICK : FULL
    const messages = positive('messages', values.messages)
    return {
      scenarios:
        positionals.length === 0 ? SCENARIOS.filter((name) => name !== 'references') : positionals.filter(isScenario),
      sizes: {
        ...sizes,
        repeats: positive('repeats', values.repeats) ?? sizes.repeats,
        messages: messages ?? sizes.messages,
        referenceMessages: messages ?? sizes.referenceMessages,
      },
      isQuick: values.quick,
      mix,
      hasReferences: !values['no-references'],
      isProfiled: values.profile,
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function isScenario(name: string): name is Scenario {
  return SCENARIOS.some((scenario) => scenario === name)
}

function positive(name: string, value: string | undefined): number | null {
  if (value === undefined) return null
  if (!/^[1-9]\d*$/.test(value)) throw new TypeError(`--${name} must be a whole number above 0`)
  return Number(value)
}
