/**
 * What the tests of the dashboard share: one installation, one browser, and the tab of its first operator. Starting
 * them costs more than the tests themselves. `stop` ends everything; the installation also ends with the test process.
 */
import type { Page } from 'playwright-core'
import { joinAsFirstOperator, openChromium, type Chromium, type Profile } from './chromium.ts'
import { startInstallation, type Installation } from './installation.ts'

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

/** For a `before` hook: skips the tests without Chromium. */
export async function startDashboard(test: Mocha.Context): Promise<Dashboard> {
  const chromium = await openChromium(test)
  const installation = await startInstallation().catch(async (error: unknown) => {
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
