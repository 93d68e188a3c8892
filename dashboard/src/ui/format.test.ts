import { expect } from 'chai'
import { formatBytes, formatDuration, formatNumber, formatPercent, formatRelative } from './format.ts'

describe('formats of numbers and times', () => {
  const now = Date.parse('2026-11-26T12:00:00Z')
  const table: [string, string, string][] = [
    ['number', formatNumber(9999, 'en', true), '9,999'],
    ['compact number', formatNumber(1_204_318, 'en', true), '1.2M'],
    ['German number', formatNumber(1_204_318, 'de'), '1.204.318'],
    ['small share', formatPercent(0.0004, 'en'), '0.04%'],
    ['share', formatPercent(0.4267, 'en'), '42.7%'],
    ['no bytes', formatBytes(0, 'en'), '0 bytes'],
    ['bytes', formatBytes(999, 'en'), '999 bytes'],
    ['kilobytes', formatBytes(2400, 'en'), '2.4 kB'],
    ['megabytes', formatBytes(48_213_000, 'en'), '48 MB'],
    ['milliseconds', formatDuration(0.45, 'en'), '450 ms'],
    ['seconds', formatDuration(3.21, 'en'), '3.2 sec'],
    ['a minute, rounded', formatDuration(59.7, 'en'), '1 min'],
    ['hour and minutes', formatDuration(3904, 'en'), '1 hr 5 min'],
    ['days without hours', formatDuration(86_460, 'en'), '1 day'],
    ['now', formatRelative(new Date(now - 2000), now, 'en'), 'now'],
    ['past', formatRelative(new Date(now - 184_000), now, 'en'), '3 minutes ago'],
    ['future', formatRelative(new Date(now + 86_400_000), now, 'en'), 'tomorrow'],
    ['German past', formatRelative(new Date(now - 184_000), now, 'de'), 'vor 3 Minuten'],
  ]
  for (const [name, actual, expected] of table) it(name, () => expect(actual).to.equal(expected))
})
