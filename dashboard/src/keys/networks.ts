/**
 * Networks as people type them: `192.0.2.7`, `192.0.2.0/24`, `2001:db8::/32`. The server decides; this marks typing
 * errors.
 */

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$|\/)|(?=$|\/))){4}(?:\/(?:3[0-2]|[12]?\d))?$/
const IPV6 = /^[\da-f:]*:[\da-f:]*(?:\d+\.\d+\.\d+\.\d+)?(?:\/(?:12[0-8]|1[01]\d|[1-9]?\d))?$/i

export function isNetwork(text: string): boolean {
  return IPV4.test(text) || IPV6.test(text)
}
