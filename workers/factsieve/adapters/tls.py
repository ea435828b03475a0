"""TLS towards services: contexts from files, and errors of a handshake in words that name the setting."""

import asyncio
import contextlib
import ssl
from typing import Final

import msgspec

from factsieve.core.errors import BadSettings

_PROBE_TIMEOUT_S: Final = 3.0
_NAME_MISMATCHES: Final = frozenset({62, 64})
"""X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH of OpenSSL's x509_vfy.h."""


class TlsFiles(msgspec.Struct, frozen=True, kw_only=True):
    """PEM files of a client. `ca` replaces the system's authorities; `cert` and `key` are the client's own, for mutual TLS."""

    ca: str | None = None
    cert: str | None = None
    key: str | None = None
    key_password: str | None = None
    verify_hostname: bool = True

    def __repr__(self) -> str:
        return (
            f"TlsFiles(ca={self.ca!r}, cert={self.cert!r}, key={self.key!r}, verify_hostname={self.verify_hostname!r})"
        )


def client_context(files: TlsFiles, settings: str) -> ssl.SSLContext:
    """Return a context for connections to a service whose settings are called `settings`.ssl_...

    Raises BadSettings for a file that is missing, not PEM, or a key that does not open with its password or belong to its certificate.
    """
    try:
        context = ssl.create_default_context(cafile=files.ca)
    except (OSError, ssl.SSLError) as error:
        raise BadSettings(
            f"{settings}.ssl_ca_file {files.ca}: {_said(error)}; expected a readable PEM file of certificates"
        ) from None
    context.check_hostname = files.verify_hostname
    if files.cert is None:
        return context
    try:
        context.load_cert_chain(files.cert, files.key, files.key_password or (lambda: b""))
    except (OSError, ssl.SSLError, ValueError) as error:
        raise BadSettings(
            f"{settings}.ssl_cert_file {files.cert} with {settings}.ssl_key_file {files.key}: {_said(error)}; expected PEM files "
            f"that belong together, and {settings}.ssl_key_password where the key has one"
        ) from None
    return context


def _said(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return (error.reason or str(error)).replace("_", " ").lower()
    return getattr(error, "strerror", None) or str(error)


def ssl_error_in(error: BaseException) -> ssl.SSLError | None:
    """Return the TLS error among an error and its causes, if there is one."""
    seen: BaseException | None = error
    for _ in range(10):
        if seen is None or isinstance(seen, ssl.SSLError):
            return seen
        seen = seen.__cause__ or seen.__context__ or getattr(seen, "source", None)
    return None


def explain_tls(
    error: ssl.SSLError, settings: str, address: str, *, plain: str, ca_setting: str | None = None
) -> BadSettings:
    """Return what a failed handshake with `address` means, in the words of the settings; `plain` says how to go without TLS."""
    ca = ca_setting or f"{settings}.ssl_ca_file"
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code in _NAME_MISMATCHES:
            return BadSettings(
                f"the certificate of {address} is for another name ({error.verify_message}): connect by the name that it is for, or have "
                "one made for this name"
            )
        return BadSettings(
            f"{ca}: the certificate of {address} is not trusted ({error.verify_message}): give the file of the authority that signed it"
        )
    reason = error.reason or str(error)
    if "CERTIFICATE_REQUIRED" in reason or "HANDSHAKE_FAILURE" in reason:
        return BadSettings(
            f"{address} wants a certificate of the client's own: set {settings}.ssl_cert_file and {settings}.ssl_key_file"
        )
    if "ALERT" in reason:  # unknown_ca, bad_certificate, certificate_expired ...
        return BadSettings(
            f"{address} does not accept the certificate in {settings}.ssl_cert_file ({reason.replace('_', ' ').lower()}): it must be "
            "signed by an authority that the server trusts"
        )
    return BadSettings(f"{address} does not speak TLS ({reason.replace('_', ' ').lower()}): {plain}")


async def handshake(host: str, port: int, context: ssl.SSLContext, timeout_s: float) -> None:
    """Shake hands and hang up. Raises SSLError for what is wrong with certificates, other OSErrors where nobody takes part.

    A handshake that is cancelled from outside would leave its socket to the garbage collector, so the time is bounded from inside.
    """
    _reader, writer = await asyncio.open_connection(host, port, ssl=context, ssl_handshake_timeout=timeout_s)
    await _hang_up(writer)


async def _hang_up(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(_PROBE_TIMEOUT_S):
            await writer.wait_closed()


async def late_alert(host: str, port: int, context: ssl.SSLContext, timeout_s: float) -> ssl.SSLError | None:
    """Return what a server has against us that it says only after the handshake; None where it says nothing for so long.

    With TLS 1.3 that is where it looks at the certificate of a client (RFC 8446, section 4.4.2). One that has sent a command by then may
    learn of a reset connection and of nothing else, so this one only listens.
    """
    try:
        reader, writer = await asyncio.open_connection(host, port, ssl=context, ssl_handshake_timeout=timeout_s)
    except OSError:
        return None
    try:
        async with asyncio.timeout(timeout_s):
            await reader.read(1)
    except ssl.SSLError as error:
        return error
    except OSError:  # includes TimeoutError
        return None
    finally:
        await _hang_up(writer)
    return None


async def speaks_tls(host: str, port: int) -> bool:
    """Return whether a TLS handshake gets anywhere at this address; nothing is verified and nothing is sent."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        await handshake(host, port, context, _PROBE_TIMEOUT_S)
    except OSError as error:  # an alert is an answer, too
        return isinstance(error, ssl.SSLError) and "ALERT" in (error.reason or "")
    return True
