import { assert } from 'chai'
import { smtpSnippets } from './snippets.ts'

describe('examples for SMTP', () => {
  const snippets = smtpSnippets({ host: 'mail.example.net', starttls_port: 2587, tls_port: 2465 }, 'me@example.com')
  for (const { key, code } of snippets)
    it(`${key} has the server, a port and no key`, () => {
      assert.include(code, 'mail.example.net')
      assert.match(code, /2587|2465/)
      assert.notMatch(code, /ms_|live_/)
    })
  it('has one of each', () => assert.lengthOf(new Set(snippets.map(({ key }) => key)), snippets.length))
})
