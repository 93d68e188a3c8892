/**
 * What is to be measured and how much of it: the selectors and flags of
 * `npm run bench -- …`, and the sizes, one row each for a full run and for
 * `--quick`, which only shows that everything works.
 */
import { parseArgs } from 'node:util'

export const SCENARIOS = [
  'e2e',
  'smtp',
  'latency',
  'backlog',
  'depth',
  'api',
  'import',
  'contacts',
  'tarpits',
  'campaign',
  'automations',
  'tracking',
  'references',
] as const
export type Scenario = (typeof SCENARIOS)[number]

export interface Sizes {
  readonly repeats: number
  /** Messages of one end-to-end measurement, and of one of a reference server. */
  readonly messages: number
  readonly referenceMessages: number
  /** Sent and forgotten before each measurement: connections open, code compiled. */
  readonly warmUp: number
  /** Timed instant messages on an idle server. */
  readonly probes: number
  /** Bulk mail queued before the instant mail comes. */
  readonly backlog: number
  /** Timed instant messages during the drain, for each of two sites. */
  readonly backlogProbes: number
  /** A short queue, drained so many times, and a long one. */
  readonly shallow: number
  readonly shallowRounds: number
  readonly deep: number
  /** Drained from above the long queue before anything is looked at: the outbound process was just started. */
  readonly deepWarmUp: number
  /** Messages of one window of the long drain; as many as all short drains together. */
  readonly window: number
  /** Requests of one round of each kind to the API, and of its warm-up; contacts that are asked for. */
  readonly apiRequests: number
  readonly apiWarmUp: number
  readonly apiContacts: number
  /** Rows of the imported file. */
  readonly importRows: number
  /** Members of the audience that is paged through, and pages that are asked for in each order. */
  readonly members: number
  readonly pages: number
  /** Sites that answer a byte every five seconds, sites that drop connections, bulk mail that waits for both, instant mail meanwhile. */
  readonly tarpits: number
  readonly deadSites: number
  readonly tarpitBacklog: number
  readonly tarpitProbes: number
  /** Contacts of a campaign, and mails of it that are timed once its ledger is written; as many transactional ones beside it. */
  readonly campaignContacts: number
  readonly campaignMails: number
  /** Steps of an automation at one moment, and instant mail meanwhile. */
  readonly automationSteps: number
  readonly automationProbes: number
  /** Mails whose pixels and links are asked for, and how often in a round. */
  readonly trackedMails: number
  readonly trackedRequests: number
}

const FULL: Sizes = {
  repeats: 3,
  messages: 50_000,
  referenceMessages: 5_000,
  warmUp: 1_000,
  probes: 200,
  backlog: 100_000,
  backlogProbes: 100,
  shallow: 1_000,
  shallowRounds: 10,
  deep: 300_000,
  deepWarmUp: 20_000,
  window: 10_000,
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
  campaignMails: 50_000,
  automationSteps: 100_000,
  automationProbes: 150,
  trackedMails: 10_000,
  trackedRequests: 60_000,
}
const QUICK: Sizes = {
  repeats: 1,
  messages: 2_000,
  referenceMessages: 500,
  warmUp: 200,
  probes: 20,
  backlog: 3_000,
  backlogProbes: 10,
  shallow: 200,
  shallowRounds: 3,
  deep: 4_000,
  deepWarmUp: 1_000,
  window: 600,
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
}

export interface Options {
  readonly scenarios: readonly Scenario[]
  readonly sizes: Sizes
  readonly isQuick: boolean
  /** Without it, `e2e` measures Mailstead alone and no ratio is known. */
  readonly hasReferences: boolean
  /** Write CPU profiles of Mailstead's processes; they cost a few per cent. */
  readonly isProfiled: boolean
}

export const USAGE = `Usage: npm run bench -- [${SCENARIOS.join('] [')}] [options]

  e2e            REST to the receiver, beside Haraka and Postfix in the same run
  smtp           SMTP in and out, beside Haraka and Postfix in the same run
  latency        one instant mail at a time on an idle server
  backlog        instant mail while much bulk mail is queued
  depth          cost of a message with a short and a long queue
  api            accepts and reads of the REST API, beside the bare stack
  import         a file of a million contacts into an audience
  contacts       pages of an audience of a million
  tarpits        instant mail while 200 tarpits and 50 dead sites have all the bulk mail
  campaign       a campaign to a million contacts, beside transactional mail
  automations    100,000 steps due at one moment, and instant mail meanwhile
  tracking       open pixels and links of tracked mail
  references     the reference servers alone
Without a name: all of them.

  --quick           small numbers: does everything work?
  --repeats N       repeats of e2e, smtp, api and references (3)
  --messages N      messages of one repeat of e2e (50000)
  --no-references   e2e and smtp without Haraka and Postfix
  --profile         CPU profiles of api, mta and worker into bench/out
`

/** The options; a text is what is wrong with the arguments. */
export function readOptions(args: readonly string[]): Options | string {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        quick: { type: 'boolean', default: false },
        repeats: { type: 'string' },
        messages: { type: 'string' },
        'no-references': { type: 'boolean', default: false },
        profile: { type: 'boolean', default: false },
      },
    })
    const unknown = positionals.find((name) => !isScenario(name))
    if (unknown !== undefined) return `there is no ${JSON.stringify(unknown)} to measure`
    const sizes = values.quick ? QUICK : FULL
    return {
      scenarios:
        positionals.length === 0 ? SCENARIOS.filter((name) => name !== 'references') : positionals.filter(isScenario),
      sizes: {
        ...sizes,
        repeats: positive('repeats', values.repeats) ?? sizes.repeats,
        messages: positive('messages', values.messages) ?? sizes.messages,
      },
      isQuick: values.quick,
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
