"""Amounts of money as people read them. The harness itself counts in smallest units alone."""

_PLACES = {
    0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
    3: "BHD IQD JOD KWD LYD OMR TND",
    4: "CLF UYW",
}
_BY_CURRENCY = {name: places for places, names in _PLACES.items() for name in names.split()}


def written_out(amount: int, currency: str) -> str:
    """An amount in smallest units, as "12.34 EUR (1,234 in the smallest unit)".

    ISO 4217 says how many digits the smallest unit takes; for currencies that it does not list
    here, two.
    """
    places = _BY_CURRENCY.get(currency, 2)
    sign, digits = "-" if amount < 0 else "", str(abs(amount)).rjust(places + 1, "0")
    whole, part = (digits[:-places], f".{digits[-places:]}") if places else (digits, "")
    return f"{sign}{int(whole):,}{part} {currency} ({amount:,} in the smallest unit)"
