/** A browser as far as sign-ins need one: cookies of one host, forms, and no redirects by itself. */

export interface BrowserPage {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

export interface Browser {
  get(url: string): Promise<BrowserPage>
  post(url: string, fields: Readonly<Record<string, string>>): Promise<BrowserPage>
  readonly cookies: ReadonlyMap<string, string>
}

export function createBrowser(more: Readonly<Record<string, string>> = {}): Browser {
  const cookies = new Map<string, string>()
  async function send(url: string, init: RequestInit, headers: Readonly<Record<string, string>>): Promise<BrowserPage> {
    const cookie = [...cookies].map((pair) => pair.join('=')).join('; ')
    const response = await fetch(url, {
      ...init,
      redirect: 'manual',
      headers: { accept: 'text/html', ...(cookie === '' ? {} : { cookie }), ...headers, ...more },
    })
    for (const one of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(one) ?? []
      cookies.set(name, value)
    }
    return { status: response.status, headers: response.headers, text: await response.text() }
  }
  return {
    cookies,
    get: (url) => send(url, {}, {}),
    post: (url, fields) =>
      send(
        url,
        { method: 'POST', body: new URLSearchParams(fields).toString() },
        { 'content-type': 'application/x-www-form-urlencoded' },
      ),
  }
}

/** The value of a hidden field. */
export function hiddenField({ text }: BrowserPage, name: string): string {
  return new RegExp(`<input type="hidden" name="${name}" value="([^"]*)">`).exec(text)?.[1] ?? ''
}
