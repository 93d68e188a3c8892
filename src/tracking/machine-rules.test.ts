import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, expect } from 'chai'
import { loadMachineRules } from './machine-rules.ts'

const BROWSER =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36'
const HOME = '81.2.69.160'

describe('rules that recognise machines by their request', () => {
  const machines = loadMachineRules(null)
  const classify = (headers: Record<string, string>, address = HOME, isHead = false): string | null =>
    machines.classify({ isHead, headers, address })
  const agents: readonly (readonly [agent: string, rule: string | null])[] = [
    [BROWSER, null],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148',
      null,
    ],
    ['Mozilla/5.0 (X11; Linux x86_64; rv:115.0) Gecko/20100101 Thunderbird/115.3.1', null],
    ['Microsoft Office/16.0 (Windows NT 10.0; Microsoft Outlook 16.0.17328; Pro)', null],
    ['Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)', 'gmail-image-proxy'],
    ['YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html', 'yahoo-image-proxy'],
    ['Mozilla/5.0', 'apple-mail-privacy'],
    ['', 'no-user-agent'],
    ['   ', 'no-user-agent'],
    ['Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)', 'microsoft-preview'],
    ['Barracuda Sentinel (EE)', 'mail-scanner'],
    ['Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)', 'link-preview'],
    [
      'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/119.0 Safari/537.36',
      'headless-browser',
    ],
    ['curl/8.4.0', 'program'],
    ['python-requests/2.31.0', 'program'],
    ['Go-http-client/1.1', 'program'],
    ['node', 'program'],
    ['Some Crawler', 'robot'],
  ]
  for (const [agent, rule] of agents)
    it(`${agent.slice(0, 60) || 'no user agent'}: ${rule ?? 'a person'}`, () =>
      assert.strictEqual(classify({ 'user-agent': agent }), rule))
  for (const [name, value] of [
    ['purpose', 'prefetch'],
    ['sec-purpose', 'prefetch;prerender'],
    ['x-moz', 'prefetch'],
    ['x-purpose', 'preview'],
  ] as const)
    it(`${name}: ${value}`, () => assert.strictEqual(classify({ 'user-agent': BROWSER, [name]: value }), 'prefetch'))
  it('classifies HEAD as a machine', () => assert.strictEqual(classify({ 'user-agent': BROWSER }, HOME, true), 'head'))
  const networks: readonly (readonly [string, string | null])[] = [
    ['66.249.66.1', 'google-crawler'],
    ['::ffff:66.249.66.1', 'google-crawler'],
    ['40.94.1.1', null],
    ['35.192.0.1', 'google-cloud'],
    ['40.107.255.255', 'microsoft-365'],
    ['40.108.0.0', null],
    ['2a01:111:f400:fe00::1', 'microsoft-365'],
    ['2a01:111:f401::1', null],
    ['3.239.255.255', 'amazon'],
    ['3.240.0.0', null],
    ['170.10.134.0', null],
    ['170.10.133.255', 'mimecast'],
    ['67.231.149.1', 'proofpoint'],
    ['209.222.80.0', 'barracuda'],
    ['209.222.79.255', null],
    ['192.168.1.1', null],
    ['not an address', null],
    ['255.255.255.255', null],
    ['::', null],
  ]
  for (const [address, rule] of networks)
    it(`from ${address}: ${rule ?? 'unknown'}`, () =>
      assert.strictEqual(classify({ 'user-agent': BROWSER }, address), rule))

  it('reads the file of the operator instead, and refuses an invalid one', () => {
    const folder = mkdtempSync(join(tmpdir(), 'machines-'))
    try {
      const path = join(folder, 'own.yaml')
      const load = (text: string): ReturnType<typeof loadMachineRules> => {
        writeFileSync(path, text)
        return loadMachineRules(path)
      }
      const own = load(
        'agents: {mine: [Foo]}\n' +
          'networks: {outer: [10.0.0.0/8], inner: [10.1.0.0/16], one: [192.0.2.1/32], all6: ["::/0"]}',
      )
      const by = (agent: string, address: string): string | null =>
        own.classify({ isHead: false, headers: { 'user-agent': agent }, address })
      assert.deepEqual(
        [
          by('a foo', HOME),
          by('curl/8', HOME),
          by('x', '10.200.0.1'),
          by('x', '10.1.0.1'),
          by('x', '192.0.2.1'),
          by('x', '192.0.2.2'),
          by('x', '2001:db8::1'),
        ],
        ['mine', null, 'outer', 'outer', 'one', null, 'all6'],
      )
      for (const text of [
        'networks: {a: [10.0.0.0]}',
        'networks: {a: [x/8]}',
        'agents: {a: ""}',
        'agents: {"A b": [x]}',
        '- x',
        '[',
      ])
        expect(() => load(text))
          .to.throw(/own\.yaml/)
          .that.has.property('name', 'ConfigError')
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
