/**
 * What the flows of a person in the dashboard share: the tab of the first operator, and the API beside it for what is
 * not the subject of a flow.
 */
import { assert } from 'chai'
import type { Locator, Page } from 'playwright-core'
import type { Dashboard, OperatorTab } from './dashboard.ts'
import type { Installation } from './installation.ts'
import { until } from './until.ts'

export interface DashboardScene extends OperatorTab, ApiRequests {
  readonly installation: Installation
  /** Follows a link of the page with this name. */
  open(name: string): Promise<void>
  press(name: string): Promise<void>
  dialog(): Locator
}

export interface ApiRequests {
  /** A request with the admin key; asserts that it worked, and returns `data`. */
  call(method: string, path: string, body?: object): Promise<Answer>
  /** The HTML, or else the text, of the newest mail to this recipient or with this subject in the sandbox. */
  captured(search: string): Promise<string>
}

export type Answer = Readonly<Record<string, unknown>>

/**
 * Registers the hooks of a suite; the values are there once its tests run. Nothing may go wrong in the tab during a
 * test, except what the test took with `takeProblems`.
 */
export function useScene(started: () => Dashboard): DashboardScene {
  const scene = {} as DashboardScene
  before(async () => {
    const dashboard = started()
    const { installation } = dashboard
    const tab = await dashboard.openOperatorTab()
    await tab.page.goto(installation.url)
    await tab.page.waitForURL(/\/w\//)
    tab.profile.takeProblems()
    Object.assign(scene, { installation, ...tab }, actionsOn(tab.page), requestsTo(installation))
  })
  afterEach(() => assert.deepEqual(scene.profile.takeProblems(), []))
  return scene
}

function actionsOn(page: Page): Pick<DashboardScene, 'open' | 'press' | 'dialog'> {
  return {
    open: (name) => page.getByRole('link', { name, exact: true }).first().click(),
    press: (name) => page.getByRole('button', { name, exact: true }).first().click(),
    dialog: () => page.getByRole('dialog').or(page.getByRole('alertdialog')),
  }
}

export function requestsTo({ url, adminKey }: Installation): ApiRequests {
  const call: ApiRequests['call'] = async (method, path, body) => {
    const response = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${adminKey}`, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    assert.isTrue(response.ok, `${method} ${path}: ${response.status} ${text}`)
    return (JSON.parse(text) as { readonly data: Answer }).data
  }
  const captured = async (search: string): Promise<string> => {
    let content = ''
    await until(
      async () => {
        const path = `/public/emails/captured?search=${encodeURIComponent(search)}`
        const { emails } = (await call('GET', path)) as { readonly emails: readonly { readonly id: string }[] }
        if (emails[0] === undefined) return false
        const { html, text } = await call('GET', `/public/emails/captured/${emails[0].id}`)
        content = typeof html === 'string' ? html : typeof text === 'string' ? text : ''
        return content !== ''
      },
      () => `no captured mail for ${search}`,
    )
    return content
  }
  return { call, captured }
}
