/**
 * The dashboard in a real browser, on one installation that all parts use in this order. To run one of them:
 * `npm test -- test/dashboard --grep "signing in"`.
 */
import { startDashboard, type Dashboard } from '#test/support/dashboard.ts'
import { describeDomains } from './domains.ts'
import { describeFirstRun } from './first-run.ts'
import { describePages } from './pages.ts'
import { describeSignIn } from './sign-in.ts'

/** Stores, all roles and a browser start; a busy machine needs longer. */
const SETUP_MS = 300_000

describe('dashboard', () => {
  let dashboard: Dashboard | undefined
  before(async function () {
    this.timeout(SETUP_MS)
    dashboard = await startDashboard(this)
  })
  after(() => dashboard?.stop())

  const started = (): Dashboard => {
    if (dashboard === undefined) throw new Error('the dashboard did not start')
    return dashboard
  }
  // the first run is first: it is about an installation that nobody has used
  describeFirstRun(started)
  describeSignIn(started)
  describeDomains(started)
  describePages(started)
})
