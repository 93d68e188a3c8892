/** Host name of the sandbox's receiver: the MX of every domain there, and therefore where bounces arrive. */
export const SANDBOX_MX = 'mx.mailstead.test'
