import { assert } from 'chai'
import { pathsOfChange } from './changes.ts'

describe('what an event of the stream of changes concerns', () => {
  const data = (change: string, hasMore = false): string =>
    JSON.stringify({ changes: [{ id: 'em_1', change }], has_more: hasMore })
  const cases: readonly [what: string, topic: string, data: string, path: string, isConcerned: boolean][] = [
    ['a delivery concerns messages', 'messages', data('email.delivered'), '/public/emails', true],
    ['a delivery is no result of an ended campaign', 'messages', data('email.delivered'), '/public/campaigns', false],
    ['an open concerns campaigns', 'messages', data('email.opened'), '/public/campaigns', true],
    ['a click concerns statistics', 'messages', data('email.clicked'), '/public/statistics', true],
    ['a list that is cut may contain opens', 'messages', data('email.sent', true), '/public/campaigns', true],
    ['a change of a campaign concerns no messages', 'campaigns', data('update'), '/public/emails', false],
    [
      'counted mail concerns the checklist, which reads the statistics',
      'statistics',
      data('progress'),
      '/public/checklist',
      true,
    ],
    ['a bounce that was received concerns the list of reports', 'reports', data('insert'), '/admin/reports', true],
    [
      'a suppression on hold concerns their list',
      'held-suppressions',
      data('update'),
      '/admin/held-suppressions',
      true,
    ],
    ['a slice of an erasure concerns its dialog', 'erasures', data('update'), '/public/privacy/get-erasure', true],
    ['an unknown topic concerns nothing', 'other', data('update'), '/public/campaigns', false],
  ]
  for (const [what, topic, event, path, isConcerned] of cases)
    it(what, () => assert.strictEqual(pathsOfChange(topic, event).includes(path), isConcerned))
})
