/**
 * What the tests of the dashboard share: one installation, one browser, and the tab of its first operator. Starting
 * them costs more than the tests themselves. `stop` ends everything; the installation also ends with the test process.
 */
import type { Page } from 'playwright-core'
import { joinAsFirstOperator, openChromium, type Chromium, type Profile } from './chromium.ts'
import { startInstallation, type Installation } from './installation.ts'

/** Stores, all roles and a browser start; a busy machine needs longer. */
const SETUP_MS = 300_000

export interface Dashboard {
  readonly chromium: Chromium
  readonly installation: Installation
  /** The first operator, signed in. The first call follows the printed link; all calls return the same tab. */
  openOperatorTab(): Promise<OperatorTab>
  stop(): Promise<void>
}

export interface OperatorTab {
  readonly profile: Profile
  readonly page: Page
}

type Configure = () => Promise<Record<string, string>>

/**
 * Registers the hooks of a suite that starts one, with settings that `configure` returns, and stops it. The tests are
 * skipped without Chromium. Returns what was started, for hooks and tests.
 */
export function useDashboard(configure: Configure): () => Dashboard {
  let dashboard: Dashboard | undefined
  before(async function () {
    this.timeout(SETUP_MS)
    dashboard = await startDashboard(this, configure)
  })
  after(() => dashboard?.stop())
  return () => {
    if (dashboard === undefined) throw new Error('the dashboard did not start')
    return dashboard
  }
}

async function startDashboard(test: Mocha.Context, configure: Configure): Promise<Dashboard> {
  // first, so that nothing else is started without it
  const chromium = await openChromium(test)
  const start = async (): Promise<Installation> => startInstallation(await configure())
  const installation = await start().catch(async (error: unknown) => {
    await chromium.close()
    throw error
  })
  const join = async (): Promise<OperatorTab> => {
    const profile = await chromium.newProfile()
    const page = await profile.newPage()
    await joinAsFirstOperator(page, installation.joinUrl)
    return { profile, page }
  }
  let tab: Promise<OperatorTab> | null = null
  return {
    chromium,
    installation,
    openOperatorTab: () => (tab ??= join()),
    stop: async () => {
      await chromium.close()
      await installation.stop()
    },
  }
}
